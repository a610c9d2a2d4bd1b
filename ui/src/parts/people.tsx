// What people say of a run: its tags and notes, and that it may go; deleting can be undone.
import { useRef, useState } from "preact/hooks";
import { asProblem, isSaved, send } from "../api.ts";
import { go } from "../router.ts";
import type { Run } from "../types.ts";
import { Notes } from "./notes.tsx";
import { tell } from "./overlays.tsx";

const at = (id: string): string => `/api/v1/runs/${encodeURIComponent(id)}`;

/** Change what people say of a run; tells whether it was done, and otherwise the reader why not. */
export async function change(id: string, what: unknown): Promise<boolean> {
  try {
    await send("PATCH", at(id), what);
    return true;
  } catch (problem) {
    refuse(problem);
    return false;
  }
}

function refuse(problem: unknown): void {
  tell({ text: asProblem(problem).message });
}

/** Move runs to the bin, offer to take them out again, and give those that went. */
export async function remove(ids: readonly string[], undone: () => void): Promise<readonly string[]> {
  const gone: string[] = [];
  const kept: string[] = [];
  for (const id of ids) {
    try {
      await send("DELETE", at(id));
      gone.push(id);
    } catch (problem) {
      kept.push(`${id}: ${asProblem(problem).message}`);
    }
  }
  const done = gone.length === 0 ? [] : [`${gone.length === 1 ? "1 run is" : `${gone.length} runs are`} in the bin`];
  const undo = (): void => void restore(gone).then(undone);
  tell({ text: [...done, ...kept].join("; "), ...(gone.length ? { undo } : {}) });
  return gone;
}

async function restore(ids: readonly string[]): Promise<void> {
  const asked = await Promise.allSettled(ids.map((id) => send("POST", `${at(id)}/restore`)));
  const failed = asked.find((one) => one.status === "rejected");
  if (failed) refuse(failed.reason);
}

export function People({ run, again }: { run: Run; again: () => void }) {
  return (
    <section class="panel" aria-label="Notes and tags">
      <h2>Notes and tags</h2>
      <Notes run={run} again={again} />
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
              onClick={() => void change(run.run_id, { tags: { [key]: null } }).then(again)}
            >
              ×
            </button>
          )}
        </span>
      ))}
    </p>
  );
}

/** Enter sends what is written, Shift+Enter begins a line. */
export function onEnter(act: () => Promise<void>): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    void act();
  };
}

/** Throw the run away that is looked at: there is nothing left to look at here. */
async function discard(id: string): Promise<void> {
  const gone = await remove([id], () => undefined);
  if (gone.length) go("/");
}

function Add({ run, again }: { run: Run; again: () => void }) {
  const [note, setNote] = useState("");
  const [tag, setTag] = useState("");
  const isBusy = useRef(false);
  const add = async (): Promise<void> => {
    const [key = "", ...rest] = tag.split("=");
    const tags = key.trim() ? { tags: { [key.trim()]: rest.join("=").trim() } } : {};
    const told = note.trim() ? { note: note.trim() } : {};
    // a second Enter before the first was answered says nothing new
    if (isBusy.current || (!key.trim() && !note.trim())) return;
    isBusy.current = true;
    if (await change(run.run_id, { ...tags, ...told })) {
      setNote("");
      setTag("");
      again();
    }
    isBusy.current = false;
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
        onKeyDown={onEnter(add)}
      />
      <input aria-label="Tag" placeholder="key=value" value={tag} onInput={(event) => setTag(event.currentTarget.value)} />
      <button type="submit">Add</button>
      <span class="grow" />
      <button type="button" class="quiet" onClick={() => void discard(run.run_id)}>
        Delete the run
      </button>
    </form>
  );
}
