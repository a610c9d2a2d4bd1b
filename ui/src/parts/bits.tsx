// Small things every page uses.
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Problem } from "../api.ts";
import type { Status } from "../types.ts";

const TONES: Record<Status, string> = {
  queued: "calm",
  running: "live",
  paused: "calm",
  completed: "good",
  failed: "critical",
  killed: "critical",
  cancelled: "calm",
  lost: "warning",
};

export function StatusBadge({ status }: { status: Status }) {
  return <span class={`badge ${TONES[status]}`}>{status}</span>;
}

export function Health({ value }: { value: "good" | "warning" | "critical" }) {
  return <span class={`badge ${value}`}>{value}</span>;
}

export function Failed({ problem, again }: { problem: Problem; again?: () => void }) {
  return (
    <div class="panel failed" role="alert">
      <p>
        <b>{sentence(problem.message)}</b>
      </p>
      {problem.hint && <p class="muted">{sentence(problem.hint)}</p>}
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Nothing is there yet: say which command brings it. Without a title where the page's own says so. */
export function Empty({ title, command, children }: { title?: string; command?: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      {title && <h2>{title}</h2>}
      {children}
      {command && <Command text={command} />}
    </div>
  );
}

/** Give the focus to a field that is opened, and back to who had it when it closes. */
export function useFocused<T extends HTMLElement>(): RefObject<T | null> {
  const field = useRef<T>(null);
  useEffect(() => {
    const before = document.activeElement;
    field.current?.focus();
    return () =>
      void requestAnimationFrame(() => {
        if (before instanceof HTMLElement && document.activeElement === document.body) before.focus();
      });
  }, []);
  return field;
}

export const NOT_COPIED = "The browser lets nothing be copied here";

/** Put a text where it can be pasted from; tells whether that was possible. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyMarked(text); // not over plain HTTP from afar, where browsers have no clipboard to write to
  }
}

/** Copy as a person would: mark the words, and press the keys. */
function copyMarked(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  field.setAttribute("aria-hidden", "true");
  field.style.cssText = "position:fixed;opacity:0";
  const before = document.activeElement;
  // behind an open dialog nothing can be marked
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isDone;
}

export function Command({ text }: { text: string }) {
  const code = useRef<HTMLElement>(null);
  const [said, setSaid] = useState("Copy");
  const take = async (): Promise<void> => {
    const isDone = await copy(text);
    if (!isDone && code.current) getSelection()?.selectAllChildren(code.current);
    setSaid(isDone ? "Copied" : "Press Ctrl+C");
    setTimeout(() => setSaid("Copy"), 2000);
  };
  return (
    <div class="command">
      <code ref={code}>{text}</code>
      <button type="button" class="quiet" onClick={() => void take()} aria-live="polite">
        {said}
      </button>
    </div>
  );
}

/** How any command comes to be recorded. */
export function InFront() {
  return (
    <>
      Put <code>jobmeter run --</code> in front of any command
    </>
  );
}

export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div class="skeleton" aria-hidden="true">
      {Array.from({ length: lines }, (_, place) => (
        <span key={place} style={{ width: `${92 - ((place * 37) % 40)}%` }} />
      ))}
    </div>
  );
}

/** Write a fact as a sentence; a name that it begins with stays as it is spelled. */
export function sentence(text: string): string {
  const first = /^[a-z]+(?=[\s,.:;]|$)/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
