// What runs now, over all hosts and ranks: how far, how fast, who is behind, what fires.
import "../style/live.css";
import { useEffect } from "preact/hooks";
import { Alerts, useAlerts } from "../live/alerts.tsx";
import { Job } from "../live/job.tsx";
import { throttle, useLoaded } from "../load.ts";
import { useNow } from "../now.ts";
import { Empty, Failed, InFront, Skeleton } from "../parts/bits.tsx";
import { heardAt, isConnected, listen } from "../stream.ts";
import type { Living } from "../types.ts";

const LOOK_MILLISECONDS = 1000;

export function Live() {
  const living = useLoaded<Living>("/api/v1/live");
  const alerts = useAlerts();
  const now = useNow();
  useEffect(() => {
    const look = throttle(LOOK_MILLISECONDS, living.again);
    const lookAtAlerts = throttle(LOOK_MILLISECONDS, alerts.again);
    return listen((event) => {
      look();
      if (event.kind === "alert" || event.kind === "reset") lookAtAlerts();
    });
  }, []);
  if (living.problem && !living.data) return <Failed problem={living.problem} again={living.again} />;
  if (!living.data) return <Skeleton lines={10} />;
  const { jobs, runs, hosts } = living.data;
  return (
    <>
      <div class="title">
        <h1>{jobs.length === 0 ? "Nothing runs now" : `${jobs.length} job${jobs.length === 1 ? " runs" : "s run"}`}</h1>
        {jobs.length > 0 && (
          <span class="muted">
            {runs > jobs.length ? `${runs} recorders ` : ""}on {hosts.length === 1 ? hosts[0] : `${hosts.length} hosts`}
          </span>
        )}
        <Freshness />
      </div>
      <Alerts watched={alerts} now={now} />
      {jobs.length === 0 ? (
        <Empty command="jobmeter run -- make -j4">
          <p>
            Jobs that are recorded appear here within two seconds. <InFront />, for example:
          </p>
        </Empty>
      ) : (
        <div class="columns">
          {jobs.map((job) => (
            <Job key={job.job_id} job={job} now={now} />
          ))}
        </div>
      )}
    </>
  );
}

/** Silence that is longer than two heartbeats of the server: it is not known yet that the network died. */
const QUIET_SECONDS = 30;
const LOST_SECONDS = 60;

/** Whether what is shown is live, and if not, how old it is. */
export function Freshness() {
  const past = Math.max(0, useNow() - heardAt.value / 1000);
  if (heardAt.value === 0) return <span class="badge">connecting</span>;
  if (isConnected.value && past < QUIET_SECONDS) return <span class="badge live" title="the server is heard: what is shown is as of now">live</span>;
  return past > LOST_SECONDS ? <span class="badge critical">lost</span> : <span class="badge warning">{`${Math.round(past)} s ago`}</span>;
}
