// Small things every page uses.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
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

/** Nothing is there yet: say which command brings it. */
export function Empty({ title, command, children }: { title: string; command?: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
      {command && <Command text={command} />}
    </div>
  );
}

export function Command({ text }: { text: string }) {
  const code = useRef<HTMLElement>(null);
  const [said, setSaid] = useState("Copy");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid("Copied");
    } catch {
      // not over plain HTTP from afar: the words are marked, and a key copies them
      if (code.current) getSelection()?.selectAllChildren(code.current);
      setSaid("Press Ctrl+C");
    }
    setTimeout(() => setSaid("Copy"), 2000);
  };
  return (
    <div class="command">
      <code ref={code}>{text}</code>
      <button type="button" class="quiet" onClick={() => void copy()} aria-live="polite">
        {said}
      </button>
    </div>
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
