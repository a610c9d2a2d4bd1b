// Who used it: by process, by command, by role in a training; the largest first.
import { useState } from "preact/hooks";
import * as format from "../format.ts";
import { useLoaded } from "../load.ts";
import { Skeleton } from "../parts/bits.tsx";
import type { RunShown } from "../types.ts";
import type { Processes, Used } from "./types.ts";

type By = "process" | "command" | "role";

interface Row {
  name: string;
  note?: string | undefined;
  title?: string | undefined;
  cpu?: number | undefined;
  memory?: number | undefined;
  read?: number | undefined;
  written?: number | undefined;
  processes?: number | undefined;
}

const FIRST_ROWS = 10;

export function Usage({ run, at }: { run: RunShown; at: string }) {
  const found = useLoaded<Processes>(`${at}/processes`, {}, `${run.samples} ${run.status}`);
  const [by, setBy] = useState<By>();
  const [sort, setSort] = useState<"cpu" | "memory">("cpu");
  const [isWhole, setWhole] = useState(false);
  if (!found.data && !found.problem) return <Waiting />;
  if (!found.data || found.data.total === 0) return null;
  const kinds = kindsOf(found.data);
  const kind = by !== undefined && kinds.includes(by) ? by : (kinds[0] ?? "process");
  const rows = rowsOf(found.data, kind).sort((one, other) => (other[sort] ?? -1) - (one[sort] ?? -1));
  const shown = isWhole ? rows : rows.slice(0, FIRST_ROWS);
  return (
    <section class="panel" aria-label="Who used it">
      <div class="title">
        <h2>Who used it</h2>
        {kinds.map((one) => (
          <button type="button" key={one} class={one === kind ? "main" : "quiet"} aria-pressed={one === kind} onClick={() => setBy(one)}>
            by {one}
          </button>
        ))}
      </div>
      <Table rows={shown} most={rows} kind={kind} sort={sort} setSort={setSort} />
      {rows.length > shown.length && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          {(rows.length - shown.length).toLocaleString("en")} more
        </button>
      )}
      <p class="muted method">{method(run, kind)}</p>
      {kind === "process" && found.data.total > found.data.processes.length && (
        <p class="muted">The {found.data.processes.length.toLocaleString("en")} that used most CPU time, of {found.data.total.toLocaleString("en")}.</p>
      )}
    </section>
  );
}

/** How the numbers of the table were had, and why they need not add up to the peak of the job. */
function method(run: RunShown, by: By): string {
  const of = { process: "of each process", command: "of the largest process of each command", role: "of the processes of each role that lived at once, added up" }[by];
  const keys = run.headline?.["memory_peak_bytes"]?.keys.join(" and ");
  const other = keys ? `; the peak of the job above is by ${keys}` : "";
  return `Peak memory here is the resident memory (RSS) ${of}: pages that processes share, such as libraries, count in each${other}.`;
}

function Waiting() {
  return (
    <section class="panel" aria-label="Who used it">
      <h2>Who used it</h2>
      <Skeleton lines={4} />
    </section>
  );
}

function kindsOf(found: Processes): By[] {
  const kinds: By[] = [];
  if (Object.keys(found.roles).length > 0) kinds.push("role");
  if (found.by_command.length > 0) kinds.push("command");
  if (found.processes.length > 0) kinds.push("process");
  return kinds;
}

function rowsOf(found: Processes, by: By): Row[] {
  if (by === "process") return found.processes.map(processRow);
  if (by === "command") {
    return found.by_command.map((one) => ({ name: one.command, cpu: one.cpu_seconds, memory: one.peak_rss_bytes, processes: one.processes }));
  }
  return Object.entries(found.roles).map(([name, one]) => ({ name, cpu: one.cpu_seconds, memory: one.memory_peak_bytes, processes: one.processes }));
}

function processRow(one: Used): Row {
  const [from, to] = [format.epoch(one.first_seen), format.epoch(one.last_seen)];
  const notes = [one.role, one.rank === undefined ? undefined : `rank ${one.rank}`, one.pid === undefined ? undefined : `pid ${one.pid}`];
  return {
    name: one.command ?? one.instance,
    note: notes.filter((note) => note !== undefined).join(", "),
    title: from === undefined || to === undefined ? undefined : `seen for ${format.seconds(to - from)}, from ${format.moment(from)} on`,
    cpu: one.cpu_seconds,
    memory: one.peak_rss_bytes,
    read: one.read_bytes,
    written: one.write_bytes,
  };
}

interface TableProps {
  rows: readonly Row[];
  most: readonly Row[];
  kind: By;
  sort: "cpu" | "memory";
  setSort: (sort: "cpu" | "memory") => void;
}

function Table({ rows, most, kind, sort, setSort }: TableProps) {
  const largest = { cpu: Math.max(...most.map((row) => row.cpu ?? 0)), memory: Math.max(...most.map((row) => row.memory ?? 0)) };
  const head = (name: "cpu" | "memory", title: string) => (
    <th class="number" aria-sort={sort === name ? "descending" : "none"}>
      <button type="button" class="quiet" onClick={() => setSort(name)}>
        {title} {sort === name ? "↓" : ""}
      </button>
    </th>
  );
  return (
    <div class="scrolls" tabIndex={0} role="group" aria-label={`Usage by ${kind}`}>
      <table class="plain">
        <thead>
          <tr>
            <th>{kind === "process" ? "Process" : kind === "command" ? "Command" : "Role"}</th>
            {head("cpu", "CPU time")}
            {head("memory", "Peak memory (RSS)")}
            {kind === "process" ? (
              <>
                <th class="number">Read</th>
                <th class="number">Written</th>
              </>
            ) : (
              <th class="number">Processes</th>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, place) => (
            <tr key={place} title={row.title}>
              <td class="who">
                <span title={row.name}>{row.name}</span>
                {row.note && <span class="muted">{row.note}</span>}
              </td>
              <Amount value={row.cpu} most={largest.cpu} show={format.seconds} />
              <Amount value={row.memory} most={largest.memory} show={format.bytes} />
              {kind === "process" ? (
                <>
                  <td class="number">{row.read === undefined ? "" : format.bytes(row.read)}</td>
                  <td class="number">{row.written === undefined ? "" : format.bytes(row.written)}</td>
                </>
              ) : (
                <td class="number">{row.processes?.toLocaleString("en") ?? ""}</td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A number over a bar of its share, so that the large one is seen before it is read. */
function Amount({ value, most, show }: { value: number | undefined; most: number; show: (value: number) => string }) {
  return (
    <td class="number amount">
      {value !== undefined && (
        <>
          {show(value)}
          <i style={{ width: `${most > 0 ? (100 * value) / most : 0}%` }} />
        </>
      )}
    </td>
  );
}
