// What runs now, over all hosts: how far, how fast, how near its limits.
import { useEffect, useState } from "preact/hooks";
import * as format from "../format.ts";
import { throttle, useLoaded } from "../load.ts";
import { Empty, Failed, Skeleton, StatusBadge } from "../parts/bits.tsx";
import { nameOf } from "../parts/run_columns.tsx";
import { heardAt, isConnected, listen } from "../stream.ts";
import type { Run, RunsPage } from "../types.ts";

export function Live() {
  const page = useLoaded<RunsPage>("/api/v1/runs", { q: "status=running or status=paused or status=queued", limit: 200 });
  useEffect(() => {
    const look = throttle(1500, page.again);
    return listen(look);
  }, []);
  if (page.problem && !page.data) return <Failed problem={page.problem} again={page.again} />;
  if (!page.data) return <Skeleton lines={8} />;
  if (page.data.runs.length === 0) {
    return (
      <Empty title="Nothing runs now" command="jobmeter run -- make -j4">
        <p>Jobs that are recorded appear here within two seconds.</p>
      </Empty>
    );
  }
  return (
    <>
      <div class="title">
        <h1>{page.data.total} running</h1>
        <Freshness />
      </div>
      <div class="columns">
        {page.data.runs.map((run) => (
          <Card key={run.run_id} run={run} />
        ))}
      </div>
    </>
  );
}

/** Whether what is shown is live, and if not, how old it is. */
export function Freshness() {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  if (isConnected.value) return <span class="badge live">live</span>;
  if (heardAt.value === 0) return <span class="badge">connecting</span>;
  const past = (now - heardAt.value) / 1000;
  return <span class={past > 60 ? "badge critical" : "badge warning"}>{past > 60 ? "lost" : `${Math.round(past)} s ago`}</span>;
}

function Card({ run }: { run: Run }) {
  const memory = run.headline?.["memory_peak_bytes"]?.value;
  const cpu = run.headline?.["cpu_seconds"]?.value;
  const limit = run.limits?.memory_bytes;
  const share = memory !== undefined && limit ? memory / limit : undefined;
  return (
    <article class="panel">
      <div class="title">
        <h2>
          <a href={`/jobs/${encodeURIComponent(run.run_id)}`}>{nameOf(run)}</a>
        </h2>
        <StatusBadge status={run.status} />
      </div>
      <div class="under">
        {run.project && <span>{run.project}</span>}
        {run.host && <span>{run.host}</span>}
        {run.wall_seconds !== undefined && <span>{format.seconds(run.wall_seconds)}</span>}
        {run.world_size !== undefined && run.world_size > 1 && <span>{run.world_size} ranks</span>}
      </div>
      <div class="figures">
        {memory !== undefined && (
          <div class="figure">
            <span class="muted">Memory peak</span>
            <b>{format.bytes(memory)}</b>
            {share !== undefined && <Meter share={share} label={`of ${format.bytes(limit as number)}`} />}
          </div>
        )}
        {cpu !== undefined && run.wall_seconds ? (
          <div class="figure">
            <span class="muted">CPU</span>
            <b>{format.digits(cpu / run.wall_seconds)} cores</b>
          </div>
        ) : null}
        {run.steps?.last_step !== undefined && (
          <div class="figure">
            <span class="muted">Step</span>
            <b>{run.steps.last_step.toLocaleString("en")}</b>
            {run.steps.steps_per_second !== undefined && <span class="muted">{format.digits(run.steps.steps_per_second)} a second</span>}
          </div>
        )}
      </div>
    </article>
  );
}

function Meter({ share, label }: { share: number; label: string }) {
  const tone = share > 0.95 ? "critical" : share > 0.85 ? "warning" : "good";
  return (
    <span class={`meter ${tone}`} title={`${Math.round(share * 100)} % ${label}`}>
      <i style={{ width: `${Math.min(100, share * 100)}%` }} />
    </span>
  );
}
