// What lies over a page: anything by Ctrl+K, the keys by ?, and what was just done with a way back.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api.ts";
import { go, isWriting } from "../router.ts";
import type { Run, RunsPage } from "../types.ts";
import { nameOf } from "./run_columns.tsx";

type Open = "palette" | "help" | null;

export const open = signal<Open>(null);

export interface Notice {
  text: string;
  undo?: () => void;
}

export const notice = signal<Notice | null>(null);
let fading: ReturnType<typeof setTimeout> | undefined;

/** Say what was done; it goes by itself. */
export function tell(next: Notice): void {
  clearTimeout(fading);
  notice.value = next;
  fading = setTimeout(() => (notice.value = null), next.undo ? 10_000 : 4_000);
}

addEventListener("keydown", (event) => {
  if (event.key === "Escape") open.value = null;
  else if (event.key === "k" && (event.ctrlKey || event.metaKey)) open.value = "palette";
  else if (event.key === "?" && !isWriting(event)) open.value = "help";
  else return;
  event.preventDefault();
});

export function Overlays() {
  return (
    <>
      {open.value === "palette" && <Palette />}
      {open.value === "help" && <Help />}
      {notice.value && (
        <div class="notice" role="status">
          {notice.value.text}
          {notice.value.undo && (
            <button
              type="button"
              onClick={() => {
                notice.value?.undo?.();
                notice.value = null;
              }}
            >
              Undo
            </button>
          )}
        </div>
      )}
    </>
  );
}

function Dialog({ label, children }: { label: string; children: preact.ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => box.current?.showModal(), []);
  return (
    <dialog
      ref={box}
      aria-label={label}
      onClose={() => (open.value = null)}
      onClick={(event) => event.target === box.current && (open.value = null)}
    >
      {children}
    </dialog>
  );
}

interface Choice {
  title: string;
  note: string;
  path: string;
}

const PAGES: readonly Choice[] = [
  { title: "Runs", note: "page", path: "/" },
  { title: "Live", note: "page", path: "/live" },
  { title: "Campaigns", note: "page", path: "/campaigns" },
  { title: "Sizing", note: "page", path: "/sizing" },
];

function Palette() {
  const [text, setText] = useState("");
  const [found, setFound] = useState<{ text: string; runs: Run[] }>({ text: "", runs: [] });
  const [at, setAt] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => {
      // a name half written is no filter yet: then nothing is found
      get<RunsPage>("/api/v1/runs", { q: text.trim(), limit: 8 }, abort.signal).then(
        (page) => setFound({ text, runs: page.runs }),
        () => setFound({ text, runs: [] }),
      );
    }, 120);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  const wanted = text.trim().toLowerCase();
  const choices: Choice[] = [
    ...PAGES.filter((page) => page.title.toLowerCase().includes(wanted)),
    // what was found for other letters must not be taken by a quick Enter
    ...(found.text === text ? found.runs : []).map((run) => ({ title: nameOf(run), note: `${run.status} ${run.run_id}`, path: `/jobs/${encodeURIComponent(run.run_id)}` })),
  ];
  const chosen = Math.min(at, choices.length - 1);
  const take = (choice: Choice | undefined): void => {
    if (!choice) return;
    open.value = null;
    go(choice.path);
  };
  return (
    <Dialog label="Go to">
      <input
        type="search"
        autofocus
        aria-label="Go to a run or a page"
        placeholder="Go to a run or a page"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt(Math.min(choices.length - 1, chosen + 1));
          else if (event.key === "ArrowUp") setAt(Math.max(0, chosen - 1));
          else if (event.key === "Enter") take(choices[chosen]);
          else return;
          event.preventDefault();
        }}
      />
      <ul role="listbox" aria-label="Found">
        {choices.map((choice, place) => (
          <li key={choice.path} role="option" aria-selected={place === chosen} onClick={() => take(choice)}>
            <span>{choice.title}</span> <span class="muted">{choice.note}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

const KEYS: readonly [string, string][] = [
  ["/", "search"],
  ["Ctrl+K", "go anywhere"],
  ["j, k", "next and previous run"],
  ["x", "pick a run"],
  ["c", "compare the picked"],
  ["Enter", "open a run"],
  ["drag on a chart", "zoom all charts in"],
  ["double click", "back to the whole run"],
  ["Shift+wheel", "move along"],
  ["?", "this help"],
];

function Help() {
  return (
    <Dialog label="Keys">
      <h2>Keys</h2>
      <dl class="facts">
        {KEYS.map(([key, what]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </>
        ))}
      </dl>
    </Dialog>
  );
}
