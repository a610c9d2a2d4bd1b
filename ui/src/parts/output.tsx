// A job's output: from its end, followed while it runs, searched, with a way from error to error, the memory that the
// job had at each line, and a way from a line to that moment in the charts and back.
import { useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { get } from "../api.ts";
import * as format from "../format.ts";
import { throttle } from "../load.ts";
import { useMemoryAt } from "../run/memory_at.ts";
import { lookAt, moment, pickedBy } from "../run/moment.ts";
import { isAbout, listen } from "../stream.ts";
import type { LogError, LogLine, LogPage } from "../types.ts";
import { ErrorList, ErrorSteps, placed } from "./output_errors.tsx";
import { Lines } from "./output_lines.tsx";

const TAIL_LINES = 400;
const MOST_LINES = 4000;
const BEFORE_BYTES = 8000;
const NEAR_END_PIXELS = 40;

interface Given {
  id: string;
  isLive: boolean;
  errors: readonly LogError[];
}

/** What is read: the end, the lines around a place, or those with a text. */
type Place = { kind: "end" } | { kind: "at"; offset: number } | { kind: "search"; text: string };

export function Output({ id, isLive, errors }: Given) {
  const [stream, setStream] = useState<string>();
  const [place, setPlace] = useState<Place>({ kind: "end" });
  const section = useRef<HTMLElement>(null);
  const { page, add } = usePage(id, stream, place, isLive);
  const times = page?.lines.map((line) => format.epoch(line.timestamp ?? undefined)).filter((time) => time !== undefined) ?? [];
  const memoryAt = useMemoryAt(id, times[0], times.at(-1));
  const go = (to: { stream?: string | undefined; offset?: number | undefined }): void => {
    if (to.offset === undefined) return;
    if (to.stream && to.stream !== page?.stream) setStream(to.stream);
    setPlace({ kind: "at", offset: to.offset });
  };
  useSignalEffect(() => {
    const picked = moment.value;
    if (picked === null || pickedBy.peek() === "output") return;
    const by = pickedBy.peek();
    void lineAt(id, stream, picked).then((line) => {
      if (!line) return;
      setPlace({ kind: "at", offset: line.offset });
      if (by === "chart") section.current?.scrollIntoView({ block: "nearest" });
    });
  });
  if (page && page.stream === null) {
    return page.reason ? <p class="muted">No output is kept: {page.reason}.</p> : null;
  }
  const shown = placed(errors);
  return (
    <section class="panel output" aria-label="Output" ref={section}>
      <div class="title">
        <h2>Output</h2>
        {(page?.streams ?? []).map((name) => (
          <button type="button" key={name} class={name === page?.stream ? "main" : "quiet"} aria-pressed={name === page?.stream} onClick={() => setStream(name)}>
            {name}
          </button>
        ))}
        {isLive && place.kind === "end" && <span class="badge live">follows</span>}
        <span class="grow" />
        <ErrorSteps errors={shown} at={place.kind === "at" ? place.offset : undefined} stream={page?.stream ?? undefined} go={go} />
        <Search setPlace={setPlace} found={place.kind === "search" ? page : undefined} />
        {place.kind !== "end" && (
          <button type="button" onClick={() => setPlace({ kind: "end" })}>
            To the end
          </button>
        )}
      </div>
      <ErrorList errors={errors} go={go} />
      {page?.reason && <p class="muted">{page.reason}.</p>}
      <Scrolled page={page} place={place}>
        {page && page.begin > 0 && place.kind !== "search" && <More text="Earlier lines" onClick={() => void add("before")} />}
        <Lines
          lines={page?.lines ?? []}
          tail={place.kind === "search" ? null : (page?.tail ?? null)}
          at={place.kind === "at" ? place.offset : undefined}
          search={place.kind === "search" ? place.text : ""}
          bad={new Set(shown.filter((error) => !error.stream || error.stream === page?.stream).map((error) => error.offset))}
          memoryAt={memoryAt}
          onLine={place.kind === "search" ? (line) => go({ offset: line.offset }) : undefined}
          onMoment={(time) => lookAt(time, "output")}
        />
        {page && page.next < page.size_bytes && place.kind !== "end" && <More text="Later lines" onClick={() => void add("after")} />}
      </Scrolled>
    </section>
  );
}

function More({ text, onClick }: { text: string; onClick: () => void }) {
  return (
    <button type="button" class="quiet" onClick={onClick}>
      {text}
    </button>
  );
}

async function lineAt(id: string, stream: string | undefined, at: number): Promise<LogLine | undefined> {
  const found = await get<LogPage>(`/api/v1/runs/${encodeURIComponent(id)}/logs`, { stream, at, limit: 1 }).catch(() => undefined);
  return found?.lines[0];
}

/** Read lines and, at the end of a run that goes on, those that come. */
function usePage(id: string, stream: string | undefined, place: Place, isLive: boolean): { page: LogPage | undefined; add: (where: "before" | "after") => Promise<void> } {
  const [page, setPage] = useState<LogPage>();
  const latest = useRef<LogPage | undefined>(undefined);
  latest.current = page;
  const ask = (query: Record<string, string | number | undefined>): Promise<LogPage | undefined> =>
    get<LogPage>(`/api/v1/runs/${encodeURIComponent(id)}/logs`, { stream, ...query }).catch(() => undefined);
  useEffect(() => {
    let isOld = false;
    void ask(asked(place)).then((found) => {
      if (found && !isOld) setPage(found);
    });
    return () => void (isOld = true);
  }, [id, stream, JSON.stringify(place)]);
  useEffect(() => {
    if (place.kind !== "end") return;
    const more = async (): Promise<void> => {
      const before = latest.current;
      const found = await ask(before ? { offset: before.next, limit: TAIL_LINES } : { tail: TAIL_LINES });
      if (!found || latest.current !== before) return;
      setPage(grown(before, found));
      if (found.lines.length >= TAIL_LINES) look();
    };
    const look = throttle(500, () => void more());
    return listen((event) => {
      if (isAbout(event, id)) look();
    });
  }, [isLive, id, stream, place.kind]);
  const add = async (where: "before" | "after"): Promise<void> => {
    const before = latest.current;
    if (!before) return;
    const from = where === "after" ? before.next : Math.max(0, before.begin - BEFORE_BYTES * 8);
    const found = await ask({ offset: from, limit: where === "after" ? TAIL_LINES : MOST_LINES });
    if (!found || latest.current !== before) return;
    if (where === "after") setPage(grown(before, found));
    else setPage({ ...before, begin: found.begin, lines: [...found.lines.filter((line) => line.offset < before.begin), ...before.lines] });
  };
  return { page, add };
}

function asked(place: Place): Record<string, string | number> {
  switch (place.kind) {
    case "end":
      return { tail: TAIL_LINES };
    case "at":
      return { offset: Math.max(0, place.offset - BEFORE_BYTES), limit: TAIL_LINES };
    case "search":
      return { search: place.text, limit: TAIL_LINES };
  }
}

/** Lines with those that came after them; of very many the last. */
function grown(before: LogPage | undefined, found: LogPage): LogPage {
  const lines = [...(before?.lines ?? []), ...found.lines].slice(-MOST_LINES);
  return { ...found, begin: lines[0]?.offset ?? found.begin, lines };
}

function Search({ setPlace, found }: { setPlace: (place: Place) => void; found: LogPage | undefined }) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const ask = (text: string): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setPlace(text ? { kind: "search", text } : { kind: "end" }), 250);
  };
  return (
    <>
      <span class="muted" role="status">
        {found && `${found.lines.length}${found.next < found.size_bytes ? "+" : ""} line${found.lines.length === 1 ? "" : "s"}`}
      </span>
      <input type="search" placeholder="Search the output" aria-label="Search the output" onInput={(event) => ask(event.currentTarget.value)} />
    </>
  );
}

/** Lines in a box that stays at its end while the reader is there, and goes to the line that was asked for. */
function Scrolled({ page, place, children }: { page: LogPage | undefined; place: Place; children: preact.ComponentChildren }) {
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  const shown = useRef("");
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !page) return;
    const key = JSON.stringify(place);
    const target = place.kind === "at" ? element.querySelector<HTMLElement>(".at") : null;
    if (place.kind === "end" && (isAtEnd.current || shown.current !== key)) element.scrollTop = element.scrollHeight;
    // the box moves, the page stays
    else if (target && shown.current !== key) element.scrollTop = target.offsetTop - element.offsetTop - element.clientHeight / 2;
    else if (!target && place.kind === "at") return;
    shown.current = key;
  }, [page, place]);
  return (
    <pre
      ref={box}
      tabIndex={0}
      role="group"
      aria-label="Lines of the output"
      onScroll={(event) => {
        const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
        isAtEnd.current = scrollTop + clientHeight >= scrollHeight - NEAR_END_PIXELS;
      }}
    >
      {children}
    </pre>
  );
}
