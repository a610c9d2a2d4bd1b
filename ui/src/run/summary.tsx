// What happened and what to change, at a glance.
import * as format from "../format.ts";
import type { Loaded } from "../load.ts";
import { Advice } from "../parts/advice.tsx";
import { Failed, Health, sentence, Skeleton } from "../parts/bits.tsx";
import type { Report, RunShown } from "../types.ts";

export function Summary({ run, report, isLive }: { run: RunShown; report: Loaded<Report>; isLive: boolean }) {
  return (
    <section class="panel" aria-label="Summary">
      <div class="title">
        <h2>Performance Analysis</h2>
        {report.data && <Health value={report.data.health} />}
      </div>
      {report.data ? <VerdictTold report={report.data} isLive={isLive} /> : report.problem ? <Failed problem={report.problem} /> : <Skeleton />}
      <Figures run={run} errors={report.data?.log_errors.length} />
      {report.data && <Advice report={report.data} jobId={run.job_id ?? run.run_id} />}
    </section>
  );
}

function VerdictTold({ report, isLive }: { report: Report; isLive: boolean }) {
  const { verdict } = report;
  return (
    <div class="verdict">
      <p>
        <b>{sentence(verdict.sentence)}</b>{" "}
        {!isLive && verdict.cause !== "completed" && <span class="muted">{verdict.cause}, {format.percent(verdict.confidence * 100)} sure</span>}
      </p>
      {verdict.evidence.length > 0 && (
        <ul class="evidence">
          {verdict.evidence.slice(0, 5).map((one, place) => (
            <li key={place}>
              {sentence(one.sentence)} {one.source && <code>{one.source}</code>}
              {one.quote && <blockquote>{one.quote}</blockquote>}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Figures({ run, errors }: { run: RunShown; errors: number | undefined }) {
  const figures: { title: string; value: string; note?: string | undefined }[] = [];
  const head = run.headline ?? {};
  const memory = head["memory_peak_bytes"];
  if (memory) figures.push({ title: "Peak memory", ...against(memory.value, run.limits?.memory_bytes), note: memory.keys.join(", ") });
  if (run.wall_seconds !== undefined) figures.push({ title: "Duration", value: format.seconds(run.wall_seconds) });
  const cpu = head["cpu_seconds"];
  if (cpu) {
    const used = run.wall_seconds ? `${format.digits(cpu.value / run.wall_seconds)} cores on average` : undefined;
    figures.push({ title: "CPU time", value: format.seconds(cpu.value), note: used });
  }
  const gpu = head["gpu_util_percent"];
  if (gpu) figures.push({ title: "GPU", value: format.percent(gpu.value), note: gpu.keys.join(", ") });
  const ending = run.signal ?? run.exit_code;
  if (ending !== undefined) figures.push({ title: "Exit", value: String(ending) });
  if (errors !== undefined) figures.push({ title: "Errors in the output", value: String(errors) });
  if (run.steps?.last_step !== undefined) figures.push({ title: "Last step", value: run.steps.last_step.toLocaleString("en") });
  return (
    <div class="figures">
      {figures.map((one) => (
        <div class="figure" key={one.title}>
          <span class="muted">{one.title}</span>
          <b>{one.value}</b>
          {one.note && <span class="muted">{one.note}</span>}
        </div>
      ))}
    </div>
  );
}

function against(value: number, limit: number | undefined): { value: string } {
  if (limit === undefined) return { value: format.bytes(value) };
  return { value: `${format.bytes(value)} / ${format.bytes(limit)} (${Math.round((100 * value) / limit)} %)` };
}
