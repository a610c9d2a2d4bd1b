// A job's output: from its end, followed while it runs, searched, with a way from error to error.
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api.ts";
import * as format from "../format.ts";
import { throttle } from "../load.ts";
import { listen } from "../stream.ts";
import type { LogError, LogPage } from "../types.ts";

const TAIL_LINES = 400;

export function Output({ id, isLive, errors }: { id: string; isLive: boolean; errors: readonly LogError[] }) {
  const [page, setPage] = useState<LogPage>();
  const [stream, setStream] = useState<string>();
  const [search, setSearch] = useState("");
  const [mark, setMark] = useState<number>();
  const box = useRef<HTMLPreElement>(null);
  const at = `/api/v1/runs/${encodeURIComponent(id)}/logs`;
  const read = async (query: Record<string, string | number | undefined>): Promise<void> => {
    const found = await get<LogPage>(at, { stream, ...query }).catch(() => undefined);
    if (found) setPage(found);
  };
  useEffect(() => {
    setMark(undefined);
    void read(search ? { search, limit: TAIL_LINES } : { tail: TAIL_LINES });
  }, [id, stream, search]);
  useEffect(() => {
    if (!isLive || search || mark !== undefined) return;
    const look = throttle(1000, () => void read({ tail: TAIL_LINES }));
    return listen((event) => {
      if (event.data["run_id"] === id) look();
    });
  }, [isLive, id, stream, search, mark]);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const target = mark === undefined ? undefined : element.querySelector(`[data-offset="${mark}"]`);
    if (target) target.scrollIntoView({ block: "center" });
    else if (!search) element.scrollTop = element.scrollHeight;
  }, [page]);
  if (page && page.stream === null) {
    return page.reason ? <p class="muted">No output is kept: {page.reason}.</p> : null;
  }
  const jump = (error: LogError): void => {
    if (error.offset === undefined) return;
    setMark(error.offset);
    setSearch("");
    if (error.stream && error.stream !== stream) setStream(error.stream);
    void read({ stream: error.stream ?? stream, offset: Math.max(0, error.offset - 4000), limit: TAIL_LINES });
  };
  return (
    <section class="panel output" aria-label="Output">
      <div class="title">
        <h2>Output</h2>
        {(page?.streams ?? []).map((name) => (
          <button type="button" key={name} class={name === page?.stream ? "main" : "quiet"} onClick={() => setStream(name)}>
            {name}
          </button>
        ))}
        <span class="grow" />
        <input
          type="search"
          placeholder="Search the output"
          aria-label="Search the output"
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
        {(mark !== undefined || search) && (
          <button
            type="button"
            onClick={() => {
              setMark(undefined);
              setSearch("");
              void read({ tail: TAIL_LINES });
            }}
          >
            To the end
          </button>
        )}
      </div>
      {errors.length > 0 && (
        <ul class="errors">
          {errors.slice(0, 8).map((error, place) => (
            <li key={place}>
              <button type="button" class="quiet" disabled={error.offset === undefined} onClick={() => jump(error)}>
                <span class={`badge ${error.level === "warning" ? "warning" : "critical"}`}>{error.type ?? error.level}</span> {error.message}
                {error.count > 1 && ` (${error.count} times)`}
                {error.memory_at_time_bytes !== undefined && <span class="muted"> at {format.bytes(error.memory_at_time_bytes)}</span>}
              </button>
            </li>
          ))}
        </ul>
      )}
      <pre ref={box} tabIndex={0}>
        {page?.lines.map((line) => (
          <span key={line.offset} data-offset={line.offset} class={line.offset === mark ? "at" : ""} title={line.timestamp ?? undefined}>
            <i>{line.number ?? ""}</i>
            {line.text}
            {"\n"}
          </span>
        ))}
        {page?.tail}
      </pre>
    </section>
  );
}
