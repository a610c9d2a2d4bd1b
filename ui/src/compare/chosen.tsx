// The runs that are compared: each with its colour, to hide, to put first, to take away; and one more to add.
import { useState } from "preact/hooks";
import { StatusBadge } from "../parts/bits.tsx";
import { useFound } from "../parts/lookup.ts";
import { nameOf, wholeNameOf } from "../parts/run_columns.tsx";
import type { Run } from "../types.ts";
import { namesOf } from "./names.ts";
import { MOST_RUNS, setRuns, toggleHidden, type Shown } from "./state.ts";
import { Dot } from "./table.tsx";

export function Chosen({ runs, shown }: { runs: readonly Run[]; shown: Shown }) {
  const names = namesOf(runs);
  return (
    <ul class="compared-runs" aria-label="Compared runs">
      {runs.map((run, place) => {
        const isHidden = shown.hidden.has(run.run_id);
        const name = names[place] ?? "";
        return (
          <li key={run.run_id} class={isHidden ? "panel is-hidden" : "panel"}>
            <Dot place={place} />
            <a href={`/jobs/${encodeURIComponent(run.run_id)}`} title={wholeNameOf(run)}>
              {name}
            </a>
            <StatusBadge status={run.status} />
            {place === 0 ? (
              <span class="muted">first</span>
            ) : (
              <button
                type="button"
                class="quiet"
                title="hold the others against this one"
                aria-label={`put ${name} first`}
                onClick={() => setRuns([run.run_id, ...shown.ids.filter((id) => id !== run.run_id)])}
              >
                ↑
              </button>
            )}
            <button type="button" class="quiet" aria-pressed={isHidden} aria-label={`hide ${name} in charts`} onClick={() => toggleHidden(run.run_id, shown.hidden)}>
              {isHidden ? "show" : "hide"}
            </button>
            <button
              type="button"
              class="quiet"
              aria-label={`take ${name} away`}
              onClick={() => setRuns(shown.ids.filter((id) => id !== run.run_id))}
            >
              ×
            </button>
          </li>
        );
      })}
      {shown.ids.length < MOST_RUNS && (
        <li>
          <AddRun ids={shown.ids} />
        </li>
      )}
    </ul>
  );
}

function AddRun({ ids }: { ids: readonly string[] }) {
  const [text, setText] = useState("");
  const known = useFound(text);
  const found = text.trim() ? known.filter((run) => !ids.includes(run.run_id)) : [];
  const add = (run: Run | undefined): void => {
    if (!run) return;
    setText("");
    setRuns([...ids, run.run_id]);
  };
  return (
    <form
      class="add-run"
      onSubmit={(event) => {
        event.preventDefault();
        add(found[0]);
      }}
    >
      <input
        id="add-run"
        type="search"
        aria-label="Add a run"
        placeholder="Add a run"
        autocomplete="off"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {found.length > 0 && (
        <ul class="panel" aria-label="Runs to add">
          {found.map((run) => (
            <li key={run.run_id}>
              <button type="button" class="quiet" onClick={() => add(run)}>
                {nameOf(run)} <span class="muted">{run.run_id}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </form>
  );
}
