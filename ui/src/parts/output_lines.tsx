// Lines of a job's output: number, the memory of then as the way to the charts, text.
import * as format from "../format.ts";
import type { LogLine } from "../types.ts";

interface Given {
  lines: readonly LogLine[];
  tail: string | null;
  /** The line that was asked for, by its offset. */
  at: number | undefined;
  search: string;
  /** Offsets of lines that tell of an error. */
  bad: ReadonlySet<number>;
  memoryAt: (moment: number) => number | undefined;
  onLine: ((line: LogLine) => void) | undefined;
  onMoment: (moment: number) => void;
}

export function Lines({ lines, tail, at, search, bad, memoryAt, onLine, onMoment }: Given) {
  const marked = at === undefined ? undefined : lines.findLast((line) => line.offset <= at)?.offset;
  return (
    <>
      {lines.map((line) => {
        const time = format.epoch(line.timestamp ?? undefined);
        const tone = `${line.offset === marked ? " at" : ""}${bad.has(line.offset) ? " error" : ""}`;
        return (
          <span key={line.offset} class={`line${tone}`} data-offset={line.offset}>
            {onLine ? (
              <button type="button" class="number" title="show the lines around it" onClick={() => onLine(line)}>
                {line.number ?? "…"}
              </button>
            ) : (
              <i class="number">{line.number ?? ""}</i>
            )}
            {time === undefined ? <i /> : <Moment time={time} memory={memoryAt(time)} onMoment={onMoment} />}
            <span>{search ? <Found text={line.text} search={search} /> : line.text}</span>
          </span>
        );
      })}
      {tail !== null && (
        <span class="line">
          <i class="number" />
          <i />
          <span>{tail}</span>
        </span>
      )}
    </>
  );
}

/** What stands before the lines. */
export function Heads({ hasMemory, hasTimes }: { hasMemory: boolean; hasTimes: boolean }) {
  if (!hasTimes) return null;
  return (
    <p class="heads muted">
      <span class="number">line</span>
      <span title={hasMemory ? "the memory that the job had when the line came" : "when the line came"}>{hasMemory ? "memory then" : "time"}</span>
    </p>
  );
}

function Moment({ time, memory, onMoment }: { time: number; memory: number | undefined; onMoment: (moment: number) => void }) {
  const when = format.moment(time);
  const held = memory === undefined ? "" : `, the job had ${format.bytes(memory)} of memory then`;
  return (
    <button type="button" title={`${when}${held}: show this moment in the graphs`} aria-label={`${when}${memory === undefined ? "" : `, ${format.bytes(memory)}`}`} onClick={() => onMoment(time)}>
      {memory === undefined ? when.slice(11) : format.bytes(memory)}
    </button>
  );
}

function Found({ text, search }: { text: string; search: string }) {
  const at = text.toLowerCase().indexOf(search.toLowerCase());
  if (at < 0) return <>{text}</>;
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + search.length)}</mark>
      {text.slice(at + search.length)}
    </>
  );
}
