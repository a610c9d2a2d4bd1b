// The notes of a run, each to be written anew or taken away.
import { useState } from "preact/hooks";
import { isSaved } from "../api.ts";
import type { Run } from "../types.ts";
import { useFocused } from "./bits.tsx";
import { tell } from "./overlays.tsx";
import { change, onEnter } from "./people.tsx";

export function Notes({ run, again }: { run: Run; again: () => void }) {
  const [edited, setEdited] = useState<number>();
  return (
    <>
      {(run.notes ?? []).map((text, place) => (
        <div key={place}>
          <p class="note" hidden={edited === place}>
            <span>{text}</span>
            {!isSaved() && (
              <>
                <button type="button" class="quiet" aria-label={`edit the note ${text}`} onClick={() => setEdited(place)}>
                  Edit
                </button>
                <button type="button" class="quiet" aria-label={`take the note ${text} away`} onClick={() => void takeAway(run.run_id, text, again)}>
                  ×
                </button>
              </>
            )}
          </p>
          {edited === place && <Editing run={run} text={text} done={() => setEdited(undefined)} again={again} />}
        </div>
      ))}
    </>
  );
}

function Editing({ run, text, done, again }: { run: Run; text: string; done: () => void; again: () => void }) {
  const [written, setWritten] = useState(text);
  const field = useFocused<HTMLTextAreaElement>();
  const save = async (): Promise<void> => {
    const next = written.trim();
    if (next && next !== text && !(await change(run.run_id, { notes: { [text]: next } }))) return;
    done();
    again();
  };
  return (
    <form
      class="search"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <textarea
        aria-label="Edited note"
        ref={field}
        rows={Math.min(8, written.split("\n").length)}
        value={written}
        onInput={(event) => setWritten(event.currentTarget.value)}
        onKeyDown={(event) => (event.key === "Escape" ? done() : onEnter(save)(event))}
      />
      <button type="submit">Save</button>
      <button type="button" class="quiet" onClick={done}>
        Cancel
      </button>
    </form>
  );
}

async function takeAway(id: string, text: string, again: () => void): Promise<void> {
  if (!(await change(id, { notes: { [text]: null } }))) return;
  again();
  tell({ text: "The note is gone", undo: () => void change(id, { note: text }).then(again) });
}
