// What can be done with the runs that are picked.
import { useState } from "preact/hooks";
import { asProblem, get, send } from "../api.ts";
import { MOST_RUNS } from "../compare/state.ts";
import { remove } from "../parts/people.tsx";
import { tell } from "../parts/overlays.tsx";

interface ActionsProps {
  ids: readonly string[];
  clear: () => void;
  compare: () => void;
  hide: (ids: readonly string[]) => void;
  again: () => void;
}

export function Actions({ ids, clear, compare, hide, again }: ActionsProps) {
  const [tag, setTag] = useState("");
  const put = (): void => {
    const [key, ...rest] = tag.split("=");
    if (!key?.trim()) return;
    void change(ids, key.trim(), rest.join("=").trim(), again);
    setTag("");
  };
  return (
    <div class="actions" role="toolbar" aria-label="Picked runs">
      <span>{ids.length.toLocaleString("en")} picked</span>
      <button
        type="button"
        class="main"
        disabled={ids.length < 2 || ids.length > MOST_RUNS}
        title={ids.length > MOST_RUNS ? `at most ${MOST_RUNS} can be compared` : "c"}
        onClick={compare}
      >
        Compare
      </button>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          put();
        }}
      >
        <input aria-label="Tag for the picked" placeholder="key=value" value={tag} onInput={(event) => setTag(event.currentTarget.value)} />
        <button type="submit" disabled={!tag.trim()}>
          Tag
        </button>
      </form>
      <button
        type="button"
        onClick={() => {
          hide(ids);
          clear();
          void remove(ids, again).then(again);
        }}
      >
        Delete
      </button>
      <button type="button" class="quiet" onClick={clear}>
        Clear
      </button>
    </div>
  );
}

/** Put a tag on runs, and offer to undo that: what they had before comes back. */
async function change(ids: readonly string[], key: string, value: string, then: () => void): Promise<void> {
  const before = new Map<string, string | null>();
  try {
    for (const id of ids) {
      const path = `/api/v1/runs/${encodeURIComponent(id)}`;
      const found = await fetchTag(path, key);
      await send("PATCH", path, { tags: { [key]: value } });
      before.set(id, found);
    }
  } catch (problem) {
    tell({ text: asProblem(problem).message });
  }
  then();
  if (before.size === 0) return;
  const undo = async (): Promise<void> => {
    for (const [id, old] of before) await send("PATCH", `/api/v1/runs/${encodeURIComponent(id)}`, { tags: { [key]: old } });
    then();
  };
  tell({
    text: `${before.size === 1 ? "1 run is" : `${before.size} runs are`} tagged ${value ? `${key}=${value}` : key}`,
    undo: () => void undo().catch((problem: unknown) => tell({ text: asProblem(problem).message })),
  });
}

async function fetchTag(path: string, key: string): Promise<string | null> {
  const run = await get<{ tags?: Record<string, string> }>(path, { fields: "tags" });
  return run.tags?.[key] ?? null;
}
