// One run: what happened, why, what to change, then the graphs and the output behind it. A thin list of panels.
import { useEffect } from "preact/hooks";
import { throttle, useLoaded } from "../load.ts";
import { Failed, Skeleton } from "../parts/bits.tsx";
import { Output } from "../parts/output.tsx";
import { People } from "../parts/people.tsx";
import { nameOf } from "../parts/run_columns.tsx";
import { Charts } from "../run/charts.tsx";
import { Heading } from "../run/heading.tsx";
import { Provenance } from "../run/provenance.tsx";
import { Summary } from "../run/summary.tsx";
import { Usage } from "../run/usage.tsx";
import { listen } from "../stream.ts";
import type { Report, RunShown } from "../types.ts";

const LIVE = new Set(["queued", "running", "paused"]);

export function Run({ id }: { id: string }) {
  const at = `/api/v1/runs/${encodeURIComponent(id)}`;
  const run = useLoaded<RunShown>(at);
  const report = useLoaded<Report>(`${at}/report`);
  const isLive = run.data !== undefined && LIVE.has(run.data.status);
  useEffect(() => {
    const look = throttle(2000, () => {
      run.again();
      report.again();
    });
    return listen((event) => {
      if (event.kind === "reset" || event.data["run_id"] === id) look();
    });
  }, [id]);
  useEffect(() => {
    document.title = run.data ? `${nameOf(run.data)} · jobmeter` : "jobmeter";
  }, [run.data]);
  if (run.problem && !run.data) return <Failed problem={run.problem} again={run.again} />;
  if (!run.data) return <Skeleton lines={10} />;
  return (
    <>
      <Heading run={run.data} />
      <Summary run={run.data} report={report} isLive={isLive} />
      <Charts run={run.data} report={report.data} />
      <Output id={id} isLive={isLive} errors={report.data?.log_errors ?? []} />
      <div class="columns">
        <People run={run.data} again={run.again} />
        <Usage run={run.data} />
        <Provenance run={run.data} />
      </div>
    </>
  );
}
