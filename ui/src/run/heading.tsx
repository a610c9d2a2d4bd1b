// Which run it is: name, status, where and when it ran.
import * as format from "../format.ts";
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
      </div>
      <div class="under">
        {run.project && <a href={`/?q=${encodeURIComponent(`project=${run.project}`)}`}>{run.project}</a>}
        <code>{run.run_id}</code>
        {run.host && <span>{run.host}</span>}
        {run.user && <span>{run.user}</span>}
        {started !== undefined && <span>{format.moment(started)}</span>}
        {run.name && run.command && <code>{run.command.join(" ")}</code>}
        {Object.entries(run.tags ?? {}).map(([key, value]) => (
          <span class="badge" key={key}>
            {key}={value}
          </span>
        ))}
      </div>
    </>
  );
}
