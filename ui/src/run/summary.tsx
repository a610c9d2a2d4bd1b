// What happened and what to change, at a glance: health, verdict with its evidence, the figures that matter, advice.
import { knownUntil } from "../api.ts";
import * as format from "../format.ts";
import type { Loaded } from "../load.ts";
import { Advice } from "../parts/advice.tsx";
import { Failed, Health, sentence, Skeleton } from "../parts/bits.tsx";
import { isWarning, rootOf } from "../parts/output_errors.tsx";
import { written } from "../parts/run_columns.tsx";
import type { Report, RunShown } from "../types.ts";
import { zoneOf } from "../zones.ts";
import { Fact } from "./fact.tsx";
import { showLine } from "./moment.ts";
import type { Context } from "./types.ts";

const SHOWN_EVIDENCE = 3;

interface Props {
  run: RunShown;
  report: Loaded<Report>;
  context: Context | undefined;
  isLive: boolean;
}

export function Summary({ run, report, context, isLive }: Props) {
  return (
    <section class="panel summary" aria-label="Summary">
      <div class="title">
        <h2>Performance Analysis</h2>
        {report.data && <Health value={report.data.health} />}
      </div>
      <div class={isQuiet(report.data) ? "halves quiet" : "halves"}>
        <div>
          {report.data ? (
            <VerdictTold report={report.data} isLive={isLive} />
          ) : report.problem ? (
            <Failed problem={report.problem} again={report.again} />
          ) : (
            <div class="skeleton verdict" aria-hidden="true">
              <span />
              <span />
            </div>
          )}
          <Figures run={run} report={report.data} context={context} />
        </div>
        <div class="changes">
          <h3>What to change</h3>
          {report.data ? <Advice run={run} report={report.data} context={context} isLive={isLive} /> : report.problem ? null : <Skeleton lines={4} />}
        </div>
      </div>
    </section>
  );
}

/** Nothing to change and nothing that stood out: the verdict takes the width. */
function isQuiet(report: Report | undefined): boolean {
  return report !== undefined && report.recommendations.length === 0 && report.findings.length === 0 && !report.followed?.length;
}

function VerdictTold({ report, isLive }: { report: Report; isLive: boolean }) {
  const { verdict } = report;
  const [first, rest] = [verdict.evidence.slice(0, SHOWN_EVIDENCE), verdict.evidence.slice(SHOWN_EVIDENCE)];
  const isPlain = isLive || verdict.cause === "completed";
  return (
    <div class="verdict">
      <p>
        <b>{sentence(verdict.sentence)}</b>{" "}
        {!isPlain && (
          <span class="muted">
            {verdict.cause}
            {verdict.confidence > 0 && `, ${format.percent(verdict.confidence * 100)} sure`}
          </span>
        )}
      </p>
      {first.length > 0 && !isLive && (
        <ul class="evidence">
          {first.map((one, place) => (
            <Fact key={place} fact={one} />
          ))}
        </ul>
      )}
      {rest.length > 0 && (
        <details>
          <summary>{rest.length} more</summary>
          <ul class="evidence">
            {rest.map((one, place) => (
              <Fact key={place} fact={one} />
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

interface Figure {
  title: string;
  value: string;
  note?: string | undefined;
  about?: string | undefined;
  tone?: string | undefined;
  share?: number | undefined;
  open?: () => void;
}

function Figures({ run, report, context }: { run: RunShown; report: Report | undefined; context: Context | undefined }) {
  const figures = [memory(run, context), duration(run), ending(run, context), errors(report), cpu(run), gpu(run), steps(run), energy(run)];
  return (
    <div class="figures">
      {figures.map((one) => one && <FigureShown key={one.title} {...one} />)}
    </div>
  );
}

function FigureShown({ title, value, note, about, tone, share, open }: Figure) {
  return (
    <div class="figure" title={about}>
      <span class="muted">{title}</span>
      <b class={tone}>{open ? <button type="button" class="link" onClick={open}>{value}</button> : value}</b>
      {share !== undefined && (
        <span class={`meter ${tone ?? ""}`}>
          <i style={{ width: `${Math.min(100, 100 * share)}%` }} />
        </span>
      )}
      {note && <span class="muted">{note}</span>}
    </div>
  );
}

function memory(run: RunShown, context: Context | undefined): Figure | undefined {
  const peak = run.headline?.["memory_peak_bytes"];
  if (!peak) return { title: "Peak memory", value: "not measured" };
  const limit = run.limits?.memory_bytes;
  const about = `by ${peak.keys.join(" and ")}${peak.exact ? "" : ", at least"}`;
  if (limit === undefined) return { title: "Peak memory", value: format.bytes(peak.value), about };
  const source = context?.limits?.memory_source;
  return {
    title: "Peak memory",
    value: `${format.bytes(peak.value)} / ${format.bytes(limit)} (${share(peak.value / limit)})`,
    note: source === undefined ? "of its limit" : source === "host" ? "of the machine's" : `of its limit, by ${source}`,
    about,
    tone: zoneOf(peak.value / limit, run.memory_zones),
    share: peak.value / limit,
  };
}

function share(part: number): string {
  return part > 0 && part < 0.005 ? "under 1 %" : `${Math.round(100 * part)} %`;
}

function duration(run: RunShown): Figure | undefined {
  const began = format.epoch(run.started_at);
  if (run.status === "running" && began !== undefined) {
    return { title: "Duration", value: format.seconds(Math.max(1, Math.round(knownUntil() - began))), note: "so far" };
  }
  if (run.wall_seconds === undefined) return undefined;
  const ended = format.epoch(run.ended_at);
  return { title: "Duration", value: format.seconds(run.wall_seconds), note: ended === undefined ? undefined : `until ${format.moment(ended).slice(11)}` };
}

function ending(run: RunShown, context: Context | undefined): Figure | undefined {
  const code = run.exit_code;
  if (code === undefined && run.signal === undefined) return undefined;
  const by = context?.ended_by;
  return {
    title: "Exit",
    value: run.signal ?? String(code),
    note: by ? `ended by ${by}` : run.signal && code !== undefined ? `code ${code}` : undefined,
    tone: code === 0 ? undefined : "critical",
  };
}

function errors(report: Report | undefined): Figure | undefined {
  if (!report) return { title: "Errors", value: "…" };
  const found = report.log_errors;
  const count = found.reduce((sum, one) => sum + (isWarning(one) ? 0 : one.count), 0);
  const warnings = found.reduce((sum, one) => sum + (isWarning(one) ? one.count : 0), 0);
  const figure: Figure = {
    title: "Errors",
    value: count.toLocaleString("en"),
    note: warnings ? `${warnings.toLocaleString("en")} warning${warnings === 1 ? "" : "s"}` : "in the output",
    tone: count ? "critical" : undefined,
  };
  return found.length ? { ...figure, open: () => showOutput(report) } : figure;
}

/** Go to the error that the verdict stands on, or the first; to the output where nobody knows its line. */
function showOutput(report: Report): void {
  const root = rootOf(report);
  if (root) showLine(root);
  else document.querySelector('[aria-label="Output"]')?.scrollIntoView({ behavior: "smooth" });
}

/** Starting costs the kernel a millisecond of CPU time: a job as short as that would seem to use several cores. */
const LEAST_MEAN_SECONDS = 0.01;

function cpu(run: RunShown): Figure | undefined {
  const used = run.headline?.["cpu_seconds"];
  if (!used) return undefined;
  const [wall, most] = [run.wall_seconds ?? 0, run.limits?.cpus];
  const cores = wall >= LEAST_MEAN_SECONDS ? used.value / wall : undefined;
  const of = most === undefined ? "cores" : `of ${format.digits(most)} cores`;
  return {
    title: "CPU time",
    value: written(used, format.seconds),
    note: cores === undefined ? undefined : `${format.digits(cores)} ${of} on average`,
    about: `by ${used.keys.join(" and ")}`,
  };
}

function gpu(run: RunShown): Figure | undefined {
  const [util, held] = [run.headline?.["gpu_util_percent"], run.headline?.["gpu_memory_peak_bytes"]];
  if (!util && !held) return undefined;
  return {
    title: "GPU",
    value: util ? format.percent(util.value) : format.bytes(held?.value ?? 0),
    note: util && held ? `${format.bytes(held.value)} at its largest` : undefined,
    about: `by ${(util ?? held)?.keys.join(" and ")}`,
  };
}

function steps(run: RunShown): Figure | undefined {
  const last = run.steps?.last_step;
  if (last === undefined) return undefined;
  const rate = run.steps?.steps_per_second;
  return { title: "Last step", value: last.toLocaleString("en"), note: rate === undefined ? undefined : `${format.digits(rate)} steps a second` };
}

function energy(run: RunShown): Figure | undefined {
  const used = run.headline?.["energy_joules"];
  if (!used) return undefined;
  return { title: "Energy", value: `${format.digits(used.value / 3.6e6)} kWh`, about: `by ${used.keys.join(" and ")}` };
}
