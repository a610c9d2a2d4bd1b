// Anything by a few letters: pages, things to do, and runs.
import { useEffect, useState } from "preact/hooks";
import { go, openRun } from "../router.ts";
import { choice, type Choice as Theme } from "../theme.ts";
import type { Run } from "../types.ts";
import { copy, NOT_COPIED } from "./bits.tsx";
import { useFound } from "./lookup.ts";
import { Dialog, open, tell } from "./overlays.tsx";
import { nameOf } from "./run_columns.tsx";

interface Choice {
  title: string;
  note: string;
  act: () => void;
}

function page(title: string, to: string): Choice {
  return { title, note: "page", act: () => go(to) };
}

function theme(next: Theme, title: string): Choice {
  return { title, note: "action", act: () => (choice.value = next) };
}

const FIXED: readonly Choice[] = [
  page("Runs", "/"),
  page("Live", "/live"),
  page("Compare", "/compare"),
  page("Campaigns", "/campaigns"),
  page("Sizing", "/sizing"),
  { title: "Failed runs", note: "filter", act: () => go("/?q=status%3Dfailed") },
  { title: "Runs of the last day", note: "filter", act: () => go("/?q=started%3E-1d") },
  theme("light", "Light theme"),
  theme("dark", "Dark theme"),
  theme("system", "Theme of the system"),
  { title: "Copy a link to this page", note: "action", act: () => void copyLink() },
  { title: "Keys", note: "action", act: () => (open.value = "help") },
];

async function copyLink(): Promise<void> {
  const isDone = await copy(location.href);
  tell({ text: isDone ? "The link is copied; who opens it needs a token" : `${NOT_COPIED}: take the link from the address bar` });
}

/** What can be done with the run that is open. */
function ofPage(): Choice[] {
  const run = openRun.value;
  return run === null ? [] : [{ title: "Compare this run", note: "action", act: () => go(`/compare?runs=${encodeURIComponent(run)}`) }];
}

function ofRun(run: Run): Choice {
  return { title: nameOf(run), note: `${run.status} ${run.run_id}`, act: () => go(`/jobs/${encodeURIComponent(run.run_id)}`) };
}

export function Palette() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const runs = useFound(text);
  const words = text.trim().toLowerCase().split(/\s+/);
  const fixed = [...ofPage(), ...FIXED].filter((one) => words.every((word) => one.title.toLowerCase().includes(word)));
  const choices = [...fixed, ...runs.map(ofRun)];
  const chosen = Math.min(at, choices.length - 1);
  useEffect(() => document.getElementById(`choice-${chosen}`)?.scrollIntoView({ block: "nearest" }), [chosen]);
  const take = (one: Choice | undefined): void => {
    if (!one) return;
    open.value = null;
    one.act();
  };
  return (
    <Dialog label="Go to">
      <input
        type="text"
        autofocus
        role="combobox"
        aria-expanded="true"
        aria-controls="choices"
        aria-activedescendant={chosen >= 0 ? `choice-${chosen}` : undefined}
        aria-label="Go to a run or a page"
        placeholder="Go to a run or a page, or do something"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt((chosen + 1) % Math.max(1, choices.length));
          else if (event.key === "ArrowUp") setAt((chosen + choices.length - 1) % Math.max(1, choices.length));
          else if (event.key === "Enter") take(choices[chosen]);
          else return;
          event.preventDefault();
        }}
      />
      <ul role="listbox" id="choices" aria-label="Found">
        {choices.map((one, place) => (
          <li key={`${one.note} ${one.title}`} id={`choice-${place}`} role="option" aria-selected={place === chosen} onClick={() => take(one)}>
            <span>{one.title}</span> <span class="muted">{one.note}</span>
          </li>
        ))}
      </ul>
      {choices.length === 0 && <p class="muted">Nothing is called so.</p>}
    </Dialog>
  );
}
