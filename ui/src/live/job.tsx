// One job that runs now: how far it is, when it will be done, how near its limits, and its ranks where it has several.
import * as format from "../format.ts";
import { StatusBadge } from "../parts/bits.tsx";
import { nameOf, wholeNameOf } from "../parts/run_columns.tsx";
import type { LiveJob, Progress, Run } from "../types.ts";
import { zoneOf } from "../zones.ts";
import { RankMap, Stragglers } from "./ranks.tsx";

export function Job({ job, now }: { job: LiveJob; now: number }) {
  const run = job.runs[0];
  if (!run) return null;
  const started = Math.min(...job.runs.flatMap((one) => format.epoch(one.started_at) ?? []));
  const ranks = job.ranks?.world_size ?? job.ranks?.ranks.length ?? 1;
  return (
    <article class="panel livejob" data-row tabIndex={-1}>
      <div class="title">
        <h2>
          <a href={`/jobs/${encodeURIComponent(run.run_id)}`} title={wholeNameOf(run)}>
            {job.name ?? nameOf(run)}
          </a>
        </h2>
        <StatusBadge status={run.status} />
        <span class="grow" />
        <span class="muted">{Number.isFinite(started) ? format.seconds(Math.max(0, Math.round(now - started))) : ""}</span>
      </div>
      <div class="under">
        {job.project && <span>{job.project}</span>}
        {job.hosts && <span title={job.hosts.join(", ")}>{job.hosts.length > 2 ? `${job.hosts.length} hosts` : job.hosts.join(", ")}</span>}
        {ranks > 1 && <span>{ranks} ranks</span>}
        {job.runs.length > 1 && <span>{job.runs.length} recorders</span>}
      </div>
      {job.progress && <ProgressBar progress={job.progress} now={now} />}
      <Figures runs={job.runs} />
      {job.ranks && <Stragglers told={job.ranks} />}
      {job.ranks && <RankMap told={job.ranks} />}
    </article>
  );
}

function ProgressBar({ progress, now }: { progress: Progress; now: number }) {
  const left = progress.seconds_left;
  const isOver = progress.by === "history" && left === undefined;
  const done =
    progress.by === "steps"
      ? `step ${(progress.step ?? 0).toLocaleString("en")} of ${(progress.of ?? 0).toLocaleString("en")}`
      : `usually takes ${format.seconds(progress.usual_seconds ?? 0)}`;
  return (
    <div class="going">
      <div class="going-said">
        <span>{done}</span>
        <b>{isOver ? "longer than usual" : left === undefined ? `${Math.floor(progress.percent)} %` : `${format.seconds(Math.round(left))} left`}</b>
        <span class="muted">{left === undefined ? "" : `done at ${format.moment(now + left).slice(11, 16)}`}</span>
      </div>
      <progress max={100} value={progress.percent} class={isOver ? "over" : ""} aria-label="progress" title={`${format.digits(progress.percent)} %`} />
    </div>
  );
}

function sum(runs: readonly Run[], of: (run: Run) => number | undefined): number | undefined {
  const known = runs.flatMap((run) => of(run) ?? []);
  return known.length ? known.reduce((total, value) => total + value, 0) : undefined;
}

function Figures({ runs }: { runs: readonly Run[] }) {
  const memory = sum(runs, (run) => run.headline?.["memory_peak_bytes"]?.value);
  const limit = runs.length === 1 ? runs[0]?.limits?.memory_bytes : undefined;
  const cores = sum(runs, (run) => {
    const used = run.headline?.["cpu_seconds"]?.value;
    return used === undefined || !run.wall_seconds ? undefined : used / run.wall_seconds;
  });
  const gpus = runs.flatMap((run) => run.headline?.["gpu_util_percent"]?.value ?? []);
  const steps = runs[0]?.steps;
  const loss = steps?.metrics?.["loss"]?.last;
  return (
    <div class="figures">
      {memory !== undefined && (
        <div class="figure">
          <span class="muted">Memory peak</span>
          <b>{format.bytes(memory)}</b>
          {limit ? <Meter share={memory / limit} limit={limit} /> : null}
        </div>
      )}
      {cores !== undefined && <Figure name="CPU, mean" value={`${format.digits(cores)} cores`} />}
      {gpus.length > 0 && <Figure name={gpus.length > 1 ? "GPU, mean" : "GPU"} value={format.percent(gpus.reduce((total, one) => total + one, 0) / gpus.length)} />}
      {steps?.last_step !== undefined && <Figure name="Step" value={steps.last_step.toLocaleString("en")} />}
      {steps?.steps_per_second !== undefined && <Figure name="Steps a second" value={format.digits(steps.steps_per_second)} />}
      {loss !== undefined && <Figure name="Loss" value={typeof loss === "number" ? format.digits(loss) : loss} />}
    </div>
  );
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div class="figure">
      <span class="muted">{name}</span>
      <b>{value}</b>
    </div>
  );
}

function Meter({ share, limit }: { share: number; limit: number }) {
  const tone = zoneOf(share) ?? "good";
  const said = `${Math.round(share * 100)} % of ${format.bytes(limit)}`;
  return (
    <>
      <span class={`meter ${tone}`}>
        <i style={{ width: `${Math.min(100, share * 100)}%` }} />
      </span>
      <small class="muted">{said}</small>
    </>
  );
}
