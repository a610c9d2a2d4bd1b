// Which run it is: name, status, where and when it ran.
import * as format from "../format.ts";
import { isSaved } from "../api.ts";
import { StatusBadge } from "../parts/bits.tsx";
import { nameOf } from "../parts/run_columns.tsx";
import type { RunShown } from "../types.ts";

export function Heading({ run }: { run: RunShown }) {
  const started = format.epoch(run.started_at);
  return (
    <>
      <div class="title">
        <h1>{nameOf(run)}</h1>
        <StatusBadge status={run.status} />
        <span class="grow" />
        {!isSaved() && (
          <button type="button" class="quiet print" onClick={() => print()}>
            Print
          </button>
        )}
      </div>
      <div class="under">
        {run.project && <a href={`/?q=${encodeURIComponent(`project=${run.project}`)}`}>{run.project}</a>}
        <code>{run.run_id}</code>
        {run.job_id !== undefined && run.job_id !== run.run_id && <code>{run.job_id}</code>}
        {run.host && <span>{run.host}</span>}
        {run.user && <span>{run.user}</span>}
        {started !== undefined && <span>{format.moment(started)}</span>}
        {run.name && run.command && <code class="command-line">{run.command.join(" ")}</code>}
        {Object.entries(run.tags ?? {}).map(([key, value]) => (
          <span class="badge" key={key}>
            {value ? `${key}=${value}` : key}
          </span>
        ))}
      </div>
      {run.message && <p class="message">{run.message}</p>}
      {(run.siblings?.length ?? 0) > 0 && (
        <p class="muted">
          The same job:{" "}
          {run.siblings?.slice(0, 8).map((other) => (
            <a key={other} href={`/jobs/${encodeURIComponent(other)}`}>
              {other}{" "}
            </a>
          ))}
        </p>
      )}
    </>
  );
}
