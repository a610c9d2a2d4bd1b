// What people say of a run: its name, tags and notes, and that it may go; deleting can be undone.
import { useState } from "preact/hooks";
import { Problem, send } from "../api.ts";
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
  const [note, setNote] = useState("");
  const [tag, setTag] = useState("");
  const addTag = (): void => {
    const [key, ...rest] = tag.split("=");
    if (!key?.trim()) return;
    setTag("");
    void change(run.run_id, { tags: { [key.trim()]: rest.join("=").trim() } }, again);
  };
  return (
    <section class="panel" aria-label="Notes and tags">
      <h2>Notes and tags</h2>
      {(run.notes ?? []).map((one, place) => (
        <p key={place}>{one}</p>
      ))}
      <p class="tags">
        {Object.entries(run.tags ?? {}).map(([key, value]) => (
          <span class="badge" key={key}>
            {value ? `${key}=${value}` : key}
            <button
              type="button"
              class="quiet"
              aria-label={`take tag ${key} off`}
              onClick={() => void change(run.run_id, { tags: { [key]: null } }, again)}
            >
              ×
            </button>
          </span>
        ))}
      </p>
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault();
          if (tag.trim()) addTag();
          if (note.trim()) void change(run.run_id, { note: note.trim() }, again).then(() => setNote(""));
        }}
      >
        <input aria-label="Note" placeholder="Add a note" value={note} onInput={(event) => setNote(event.currentTarget.value)} />
        <input aria-label="Tag" placeholder="key=value" value={tag} onInput={(event) => setTag(event.currentTarget.value)} />
        <button type="submit">Add</button>
        <span class="grow" />
        <button type="button" class="quiet" onClick={() => void remove([run.run_id], () => go("/"))}>
          Delete
        </button>
      </form>
    </section>
  );
}
