// What happened, in order of time, with what was measured then; a click shows the moment in the charts, of an error its
// line in the output.
import { useMemo, useState } from "preact/hooks";
import * as format from "../format.ts";
import { isWarning } from "../parts/output_errors.tsx";
import type { Happened, Report, RunShown } from "../types.ts";
import { lookAt, moment, showLine, type LinePlace } from "./moment.ts";

interface Row {
  at: number;
  type: string;
  text: string;
  tone: "critical" | "warning" | "";
  measurements: [string, string][];
  /** Where it stands in the output. */
  line?: LinePlace;
}

const FIRST_ROWS = 50;
const BAD = /oom|error|fail|kernel|timeout|nan/;
const ODD = /alert|threshold|stall$|left|signal|clock_step|stopped/;

/** What is told beside an event, as far as it was measured: the memory of the job and of the machine, its cores. */
const TOLD: readonly [string, RegExp, (value: number) => string][] = [
  ["memory", /^(cgroup_mem_unreclaimable|cgroup_mem_current|proc_rss_total|psutil_rss_total)$/, format.bytes],
  ["GPU memory", /^(nvml|rocm|apple|dcgm)_mem_used/, format.bytes],
  ["CPU", /_pdcpu$/, format.percent],
  ["free on the machine", /^host_mem_available$/, format.bytes],
  ["processes", /^proc_count$/, format.digits],
];

export function Events({ run, report }: { run: RunShown; report: Report | undefined }) {
  const rows = useMemo(() => rowsOf(run, report), [run, report]);
  const [isWhole, setWhole] = useState(false);
  const zero = format.epoch(run.started_at);
  const length = (rows.at(-1)?.at ?? 0) - (zero ?? 0);
  if (rows.length === 0) return null;
  const shown = isWhole ? rows : rows.slice(0, FIRST_ROWS);
  return (
    <section class="panel" aria-label="Events">
      <h2>Events</h2>
      <ol class="events">
        {shown.map((row, place) => (
          <li key={place} class={row.tone}>
            <button
              type="button"
              aria-pressed={moment.value === row.at}
              title={`${format.moment(row.at)}: show it in the ${row.line ? "output" : "charts"}`}
              onClick={() => (row.line ? showLine(row.line, row.at) : lookAt(row.at))}
            >
              <time dateTime={new Date(row.at * 1000).toISOString()}>{zero === undefined ? format.moment(row.at).slice(11) : since(row.at - zero, length)}</time>
              <b>{row.type}</b>
              <span class="text">{row.text}</span>
              <span class="muted">{row.measurements.map(([name, value]) => `${name} ${value}`).join(", ")}</span>
            </button>
          </li>
        ))}
      </ol>
      {rows.length > shown.length && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          {(rows.length - shown.length).toLocaleString("en")} more
        </button>
      )}
    </section>
  );
}

/** How long after the start, as finely as the length of the run asks for: rows of a short one are told apart. */
function since(seconds: number, length: number): string {
  if (seconds < 0) return `-${since(-seconds, length)}`;
  if (length < 1) return `${Math.round(seconds * 1e3)} ms`;
  return seconds < 60 ? `${seconds.toFixed(length < 10 ? 2 : 1)} s` : format.seconds(seconds);
}

function rowsOf(run: RunShown, report: Report | undefined): Row[] {
  const rows = (run.events ?? []).flatMap((event) => eventRow(event));
  for (const error of report?.log_errors ?? []) {
    const at = format.epoch(error.timestamp);
    if (at === undefined) continue;
    const held = error.memory_at_time_bytes;
    const text = error.count > 1 ? `${error.message} (${error.count} times)` : error.message;
    rows.push({
      at,
      type: error.type ?? error.level,
      text,
      tone: isWarning(error) ? "warning" : "critical",
      measurements: held === undefined ? [] : [["memory", format.bytes(held)]],
      ...(error.offset === undefined ? {} : { line: { stream: error.stream, offset: error.offset } }),
    });
  }
  const [began, ended] = [format.epoch(run.started_at), format.epoch(run.ended_at)];
  if (began !== undefined) rows.push(plain(began, "started", ""));
  if (ended !== undefined) rows.push(plain(ended, "ended", run.signal ? `by ${run.signal}` : run.exit_code === undefined ? "" : `exit code ${run.exit_code}`));
  return rows.sort((one, other) => one.at - other.at);
}

const plain = (at: number, type: string, text: string): Row => ({ at, type, text, tone: "", measurements: [] });

function eventRow(event: Happened): Row[] {
  const at = format.epoch(event.timestamp);
  if (at === undefined) return [];
  const rank = event.rank ? `rank ${event.rank}: ` : "";
  return [
    {
      at,
      type: event.type.replaceAll("_", " "),
      text: rank + details(event.details ?? {}),
      tone: BAD.test(event.type) ? "critical" : ODD.test(event.type) ? "warning" : "",
      measurements: measured(event.measurements ?? {}),
    },
  ];
}

function details(given: Record<string, unknown>): string {
  const text = given["text"] ?? given["title"];
  if (typeof text === "string") return text;
  if ("old" in given && "new" in given) return `${said(given["old"])} → ${said(given["new"])}`;
  return Object.entries(given)
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${name.endsWith("_bytes") && typeof value === "number" ? format.bytes(value) : said(value)}`)
    .join(", ");
}

function said(value: unknown): string {
  return typeof value === "string" ? value : Array.isArray(value) ? value.map(said).join(" ") : typeof value === "number" ? format.digits(value) : JSON.stringify(value);
}

function measured(given: Record<string, number | string | null>): [string, string][] {
  return TOLD.flatMap(([name, matches, show]): [string, string][] => {
    const found = Object.entries(given).find(([key, value]) => matches.test(key) && typeof value === "number");
    return found ? [[name, show(found[1] as number)]] : [];
  });
}
