// What people say of a run: its name, tags and notes, and that it may go; deleting can be undone.
import { useState } from "preact/hooks";
import { isSaved, Problem, send } from "../api.ts";
import { go } from "../router.ts";
import type { Run } from "../types.ts";
import { tell } from "./overlays.tsx";

const at = (id: string): string => `/api/v1/runs/${encodeURIComponent(id)}`;

async function change(id: string, what: unknown, then: () => void): Promise<void> {
  try {
    await send("PATCH", at(id), what);
    then();
  } catch (problem) {
    tell({ text: problem instanceof Problem ? problem.message : String(problem) });
  }
}

/** Move runs to the bin, and offer to take them out again. */
export async function remove(ids: readonly string[], then: () => void): Promise<void> {
  const gone: string[] = [];
  for (const id of ids) {
    try {
      await send("DELETE", at(id));
      gone.push(id);
    } catch (problem) {
      tell({ text: `${id}: ${problem instanceof Problem ? problem.message : String(problem)}` });
    }
  }
  then();
  if (gone.length === 0) return;
  const undo = (): void => void Promise.all(gone.map((id) => send("POST", `${at(id)}/restore`))).then(then);
  tell({ text: `${gone.length === 1 ? "1 run is" : `${gone.length} runs are`} in the bin`, undo });
}

export function People({ run, again }: { run: Run; again: () => void }) {
  return (
    <section class="panel" aria-label="Notes and tags">
      <h2>Notes and tags</h2>
      {(run.notes ?? []).map((one, place) => (
        <p class="note" key={place}>
          {one}
        </p>
      ))}
      <Tags run={run} again={again} />
      {!isSaved() && <Add run={run} again={again} />}
    </section>
  );
}

function Tags({ run, again }: { run: Run; again: () => void }) {
  const tags = Object.entries(run.tags ?? {});
  if (tags.length === 0) return null;
  return (
    <p class="tags">
      {tags.map(([key, value]) => (
        <span class="badge" key={key}>
          {value ? `${key}=${value}` : key}
          {!isSaved() && (
            <button
              type="button"
              class="quiet"
              aria-label={`take tag ${key} off`}
              onClick={() => void change(run.run_id, { tags: { [key]: null } }, again)}
            >
              ×
            </button>
          )}
        </span>
      ))}
    </p>
  );
}

function Add({ run, again }: { run: Run; again: () => void }) {
  const [note, setNote] = useState("");
  const [tag, setTag] = useState("");
  const add = async (): Promise<void> => {
    const [key = "", ...rest] = tag.split("=");
    const tags = key.trim() ? { tags: { [key.trim()]: rest.join("=").trim() } } : {};
    const told = note.trim() ? { note: note.trim() } : {};
    if (!key.trim() && !note.trim()) return;
    await change(run.run_id, { ...tags, ...told }, () => {
      setNote("");
      setTag("");
      again();
    });
  };
  return (
    <form
      class="search"
      onSubmit={(event) => {
        event.preventDefault();
        void add();
      }}
    >
      <textarea
        aria-label="Note"
        placeholder="Add a note"
        rows={1}
        value={note}
        onInput={(event) => setNote(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey) return;
          event.preventDefault();
          void add();
        }}
      />
      <input aria-label="Tag" placeholder="key=value" value={tag} onInput={(event) => setTag(event.currentTarget.value)} />
      <button type="submit">Add</button>
      <span class="grow" />
      <button type="button" class="quiet" onClick={() => void remove([run.run_id], () => go("/"))}>
        Delete the run
      </button>
    </form>
  );
}
