// What lies over a page: anything by Ctrl+K, the keys by ?, and what was just done with a way back.
import "../style/shell.css";
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { isWriting } from "../router.ts";
import { Palette } from "./palette.tsx";

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
  if (event.key === "Escape" && open.value !== null) open.value = null;
  else if (event.key === "k" && (event.ctrlKey || event.metaKey)) open.value = "palette";
  else if (open.value !== null || isWriting(event) || event.ctrlKey || event.metaKey || event.altKey) return;
  else if (event.key === "?") open.value = "help";
  else if (event.key === "/") search();
  else if (event.key !== "j" && event.key !== "k") return;
  else if (!step(event.key === "j" ? 1 : -1)) return;
  event.preventDefault();
});

/** Go to the search of the page; one that has none searches everything. */
function search(): void {
  const field = document.getElementById("search");
  if (field) field.focus();
  else open.value = "palette";
}

/** Move to the next or previous thing of a page that says which they are. */
function step(by: 1 | -1): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")];
  if (rows.length === 0) return false;
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return true;
}

/** Enter on a thing that is no link itself opens the link in it. */
addEventListener("keydown", (event) => {
  const row = event.target instanceof HTMLElement && event.target.matches("main [data-row]") ? event.target : null;
  if (event.key !== "Enter" || row === null || row instanceof HTMLButtonElement) return;
  row.querySelector<HTMLAnchorElement>("a[href]")?.click();
});

export function Overlays() {
  return (
    <>
      {open.value === "palette" && <Palette />}
      {open.value === "help" && <Help />}
      {/* always there: only what changes within it is read out */}
      <div class="notice" role="status">
        {notice.value?.text}
        {notice.value?.undo && (
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
    </>
  );
}

/** Open a dialog over all else while it exists; who had the focus before has it again afterwards. */
export function useModal(box: { readonly current: HTMLDialogElement | null }): void {
  // before it leaves the document: one that is gone gives no focus back
  useLayoutEffect(() => {
    const dialog = box.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
}

export function Dialog({ label, children }: { label: string; children: preact.ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  useModal(box);
  return (
    <dialog
      ref={box}
      aria-label={label}
      // one that is gone already says so too, when the next one may be open
      onClose={() => box.current && (open.value = null)}
      onClick={(event) => event.target === box.current && (open.value = null)}
    >
      {children}
    </dialog>
  );
}

const KEYS: readonly { where: string; keys: readonly [string, string][] }[] = [
  {
    where: "Everywhere",
    keys: [
      ["Ctrl+K", "go to a run or a page, or do something"],
      ["/", "search on this page"],
      ["j, k", "next and previous run, job or row"],
      ["Enter", "open it"],
      ["Esc", "close what lies over the page"],
      ["?", "this help"],
    ],
  },
  {
    where: "Runs",
    keys: [
      ["x", "pick a run"],
      ["c", "compare the picked"],
    ],
  },
  { where: "Compare", keys: [["c", "add a run"]] },
  {
    where: "Charts",
    keys: [
      ["drag", "zoom all charts in"],
      ["double click", "back to the whole run"],
      ["Shift+wheel", "move along"],
      ["Ctrl+wheel", "zoom at the pointer"],
      ["←, →", "from point to point, said aloud"],
      ["Shift+←, Shift+→", "move along"],
      ["+, -", "zoom in and out"],
      ["0, Esc", "back to the whole run"],
      ["Enter", "the output of then"],
    ],
  },
];

function Help() {
  return (
    <Dialog label="Keys">
      <h2>Keys</h2>
      {KEYS.map(({ where, keys }) => (
        <section key={where} class="keys">
          <h3>{where}</h3>
          <dl class="facts">
            {keys.map(([key, what]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </Dialog>
  );
}
