// One run: what happened, why, what to change, then the graphs and the output behind it. A thin list of panels.
import "../style/run.css";
import { useEffect } from "preact/hooks";
import { throttle, useLoaded } from "../load.ts";
import { Empty, Failed } from "../parts/bits.tsx";
import { Output } from "../parts/output.tsx";
import { People } from "../parts/people.tsx";
import { nameOf } from "../parts/run_columns.tsx";
import { Charts } from "../run/charts.tsx";
import { Config, Environment } from "../run/context.tsx";
import { Events } from "../run/events.tsx";
import { Heading } from "../run/heading.tsx";
import { moment } from "../run/moment.ts";
import { Provenance } from "../run/provenance.tsx";
import { hasRanks, Ranks } from "../run/ranks.tsx";
import { Steps } from "../run/steps.tsx";
import { Summary } from "../run/summary.tsx";
import type { Context } from "../run/types.ts";
import { Usage } from "../run/usage.tsx";
import { Waiting } from "../run/waiting.tsx";
import { listen } from "../stream.ts";
import type { Report, RunShown, RunsPage } from "../types.ts";

const LIVE = new Set(["queued", "running", "paused"]);

/** The page of a run, or of a job by its id or name: then of its newest run. */
export function Run({ id }: { id: string }) {
  const run = useLoaded<RunShown>(`/api/v1/runs/${encodeURIComponent(id)}`);
  const isUnknown = run.problem?.status === 404 && !run.data;
  const named = useLoaded<RunsPage>(isUnknown ? "/api/v1/runs" : null, { q: `job_id=${quoted(id)} or name=${quoted(id)}`, limit: 1, fields: "run_id" });
  const found = named.data?.runs[0]?.run_id;
  if (run.data) return <Panels run={run.data} again={run.again} />;
  if (found !== undefined && found !== id) return <Run id={found} key={found} />;
  if (isUnknown && named.data) return <Unknown id={id} />;
  const problem = isUnknown ? named.problem : run.problem;
  return problem ? <Failed problem={problem} again={run.again} /> : <Waiting />;
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

function Unknown({ id }: { id: string }) {
  return (
    <Empty title="There is no such run" command="jobmeter ls">
      <p>
        Neither a run, nor a job, nor a name is <code>{id}</code>. It may have been deleted. <a href="/">All runs</a>
      </p>
    </Empty>
  );
}

function Panels({ run, again }: { run: RunShown; again: () => void }) {
  const at = `/api/v1/runs/${encodeURIComponent(run.run_id)}`;
  const report = useLoaded<Report>(`${at}/report`);
  const context = useLoaded<Context>(`${at}/context`);
  const isLive = LIVE.has(run.status);
  useEffect(() => {
    const look = throttle(2000, () => {
      again();
      report.again();
    });
    return listen((event) => {
      if (event.kind === "reset" || event.data["run_id"] === run.run_id) look();
    });
  }, [run.run_id]);
  useEffect(() => context.again(), [run.status]);
  useEffect(() => {
    document.title = `${nameOf(run)} · jobmeter`;
  }, [run]);
  useEffect(() => () => void (moment.value = null), [run.run_id]);
  return (
    <>
      <Heading run={run} />
      <Summary run={run} report={report} context={context.data} isLive={isLive} />
      <Charts run={run} report={report.data} />
      <Output id={run.run_id} isLive={isLive} errors={report.data?.log_errors ?? []} />
      <div class="panels">
        <Events run={run} report={report.data} />
        {hasRanks(run) && <Ranks run={run} at={at} />}
        <Usage run={run} at={at} />
        {run.steps && <Steps run={run} at={at} />}
        <Config context={context.data} />
        <Environment run={run} context={context.data} />
        <Provenance context={context.data} />
        <People run={run} again={again} />
      </div>
    </>
  );
}
