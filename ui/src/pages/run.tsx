// One run: what happened, why, what to change, then the graphs and the output behind it. A thin list of panels.
import "../style/run.css";
import { useEffect, useState } from "preact/hooks";
import { isSaved, send } from "../api.ts";
import { useLoaded } from "../load.ts";
import { shortCommand } from "../naming.ts";
import { Empty, Failed } from "../parts/bits.tsx";
import { Output } from "../parts/output.tsx";
import { tell } from "../parts/overlays.tsx";
import { People } from "../parts/people.tsx";
import { Charts } from "../run/charts.tsx";
import { Config, Environment } from "../run/context.tsx";
import { Events } from "../run/events.tsx";
import { Heading } from "../run/heading.tsx";
import { moment } from "../run/moment.ts";
import { useNews } from "../run/news.ts";
import { Provenance } from "../run/provenance.tsx";
import { hasRanks, Ranks } from "../run/ranks.tsx";
import { Steps } from "../run/steps.tsx";
import { Summary } from "../run/summary.tsx";
import type { Context } from "../run/types.ts";
import { Usage } from "../run/usage.tsx";
import { Waiting } from "../run/waiting.tsx";
import { openRun } from "../router.ts";
import { written } from "../runs/grammar.ts";
import { listen } from "../stream.ts";
import type { Report, RunShown, RunsPage } from "../types.ts";

const LIVE = new Set(["queued", "running", "paused"]);
const NEWS_MILLISECONDS = 2000;

/** How the recorder names a run. */
const RUN_ID = /^\d{8}T\d{6}Z-[0-9a-f]+$/;

/** The page of a run, or of a job by its id or name: then of its newest run. */
export function Run({ id }: { id: string }) {
  const isPlain = isSaved() || RUN_ID.test(id);
  const [q, fields] = [["id", "job_id", "name"].map((field) => `${field}=${written(id)}`).join(" or "), "run_id"];
  const named = useLoaded<RunsPage>(isPlain ? null : "/api/v1/runs", { q, fields, limit: 20 });
  const found = isPlain ? id : (named.data?.runs.find((one) => one.run_id === id) ?? named.data?.runs[0])?.run_id;
  const [isOver, setOver] = useState(false);
  const version = useNews(found ?? "", isOver, NEWS_MILLISECONDS);
  const run = useLoaded<RunShown>(found === undefined ? null : `/api/v1/runs/${encodeURIComponent(found)}`, {}, version);
  useEffect(() => setOver(run.data !== undefined && !LIVE.has(run.data.status)), [run.data]);
  if (run.data) return <Panels run={run.data} version={version} again={run.again} />;
  if (run.problem?.status === 404 || (named.data && found === undefined)) return <Unknown id={id} />;
  const problem = run.problem ?? named.problem;
  return problem ? <Failed problem={problem} again={run.problem ? run.again : named.again} /> : <Waiting />;
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

/** Somebody deleted the run that is looked at. */
function Gone({ at }: { at: string }) {
  return (
    <p class="panel failed gone" role="alert">
      This run was deleted.{" "}
      <button type="button" onClick={() => void send("POST", `${at}/restore`).catch((problem: Error) => tell({ text: problem.message }))}>
        Take it out of the bin
      </button>
    </p>
  );
}

function Panels({ run, version, again }: { run: RunShown; version: number; again: () => void }) {
  const at = `/api/v1/runs/${encodeURIComponent(run.run_id)}`;
  const report = useLoaded<Report>(`${at}/report`, {}, version);
  const context = useLoaded<Context>(`${at}/context`, {}, run.status);
  const isLive = LIVE.has(run.status);
  const [isGone, setGone] = useState(false);
  useEffect(
    () =>
      listen((event) => {
        if (event.data["run_id"] === run.run_id && event.kind === "run") setGone(event.data["removed"] === true);
      }),
    [run.run_id],
  );
  useEffect(() => {
    document.title = `${run.name ?? shortCommand(run) ?? run.run_id} · jobmeter`;
  }, [run]);
  useEffect(() => {
    openRun.value = run.run_id;
    return () => {
      openRun.value = null;
      moment.value = null;
    };
  }, [run.run_id]);
  return (
    <>
      {isGone && <Gone at={at} />}
      <Heading run={run} again={again} />
      <Summary run={run} report={report} context={context.data} isLive={isLive} />
      <Charts run={run} report={report.data} isLive={isLive} />
      <Output id={run.run_id} isLive={isLive && !isSaved()} hasFailed={!isLive && run.status !== "completed"} report={report.data} />
      <div class="panels">
        <div>
          <Events run={run} report={report.data} />
          {hasRanks(run) && <Ranks run={run} at={at} />}
          <Usage run={run} at={at} />
          {run.steps && <Steps run={run} at={at} />}
        </div>
        <div>
          <People run={run} again={again} />
          <Config context={context.data} />
          <Environment run={run} context={context.data} />
          <Provenance context={context.data} />
        </div>
      </div>
    </>
  );
}
