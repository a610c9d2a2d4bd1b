// Which run it is: name, status, where and when it ran.
import { useState } from "preact/hooks";
import { isSaved } from "../api.ts";
import * as format from "../format.ts";
import { shortCommand, wholeCommand } from "../naming.ts";
import { StatusBadge, useFocused } from "../parts/bits.tsx";
import { change } from "../parts/people.tsx";
import { comparison } from "../runs/grammar.ts";
import type { RunShown } from "../types.ts";

const FIRST_SIBLINGS = 8;
/** About two lines of a heading: what is longer is cut there. */
const LONG_LETTERS = 120;

export function Heading({ run, again }: { run: RunShown; again: () => void }) {
  const started = format.epoch(run.started_at);
  return (
    <>
      <div class="title">
        <Name run={run} again={again} />
        <StatusBadge status={run.status} />
        <span class="grow" />
        {!isSaved() && (
          <button type="button" class="quiet print" onClick={() => print()}>
            Print
          </button>
        )}
      </div>
      <div class="under">
        {run.project && <a href={`/?q=${encodeURIComponent(comparison("project", run.project))}`}>{run.project}</a>}
        <code>{run.run_id}</code>
        {run.job_id !== undefined && run.job_id !== run.run_id && <code>{run.job_id}</code>}
        {run.host && <span>{run.host}</span>}
        {run.user && <span>{run.user}</span>}
        {started !== undefined && <span>{format.moment(started)}</span>}
        {run.name && run.command && (
          <code class="command-line" title={wholeCommand(run)}>
            {shortCommand(run)}
          </code>
        )}
        {Object.entries(run.tags ?? {}).map(([key, value]) => (
          <span class="badge" key={key}>
            {value ? `${key}=${value}` : key}
          </span>
        ))}
      </div>
      <Whole run={run} />
      {run.message && <p class="message">{run.message}</p>}
      <Siblings run={run} />
    </>
  );
}

/** A command that the lines above cut, as it was given. */
function Whole({ run }: { run: RunShown }) {
  const whole = wholeCommand(run);
  if (whole === undefined || (whole.length <= LONG_LETTERS && !whole.includes("\n"))) return null;
  return (
    <details class="whole-command">
      <summary>Whole command</summary>
      <pre tabIndex={0} role="group" aria-label="Whole command">
        {whole}
      </pre>
    </details>
  );
}

function Siblings({ run }: { run: RunShown }) {
  const others = run.siblings ?? [];
  if (others.length === 0) return null;
  const left = others.length - FIRST_SIBLINGS;
  return (
    <p class="muted">
      The same job:{" "}
      {others.slice(0, FIRST_SIBLINGS).map((other) => (
        <a key={other} href={`/jobs/${encodeURIComponent(other)}`}>
          {other}{" "}
        </a>
      ))}
      {left > 0 && run.job_id !== undefined && <a href={`/?q=${encodeURIComponent(comparison("job_id", run.job_id))}`}>{`and ${left.toLocaleString("en")} more`}</a>}
    </p>
  );
}

/** The name, and another one for it. */
function Name({ run, again }: { run: RunShown; again: () => void }) {
  const [isEdited, setEdited] = useState(false);
  return (
    <>
      {isEdited ? <Renaming run={run} done={() => setEdited(false)} again={again} /> : <h1 title={wholeCommand(run)}>{run.name ?? shortCommand(run) ?? run.run_id}</h1>}
      {!isSaved() && (
        <button type="button" class="quiet print" aria-expanded={isEdited} onClick={() => setEdited(!isEdited)}>
          {isEdited ? "Cancel" : "Rename"}
        </button>
      )}
    </>
  );
}

function Renaming({ run, done, again }: { run: RunShown; done: () => void; again: () => void }) {
  const [written, setWritten] = useState(run.name ?? "");
  const field = useFocused<HTMLInputElement>();
  const save = async (): Promise<void> => {
    const name = written.trim();
    if (name && name !== run.name && !(await change(run.run_id, { name }))) return;
    done();
    again();
  };
  return (
    <form
      class="rename"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <input
        ref={field}
        aria-label="Name of the run"
        value={written}
        onInput={(event) => setWritten(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && done()}
      />{" "}
      <button type="submit">Save</button>
    </form>
  );
}
