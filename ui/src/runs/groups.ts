// Runs by what they have in common: the groups with their counts, and the runs of those that are open.
import { useEffect, useRef, useState } from "preact/hooks";
import { asProblem } from "../api.ts";
import { throttle, useLoaded, type Loaded } from "../load.ts";
import { query, setQuery } from "../router.ts";
import { listen } from "../stream.ts";
import type { Facets, Run } from "../types.ts";
import { both, comparison, without } from "./grammar.ts";
import { readPage, type Question } from "./listing.ts";
import { tell } from "../parts/overlays.tsx";

/** What the server counts apart at most. */
const MOST_GROUPS = 100;
const MORE_RUNS = 200;
const MOST_RUNS = 1000;
const LOOK_MILLISECONDS = 2000;

export type Row =
  | { kind: "run"; run: Run; key: string }
  | { kind: "group"; value: string | null; count: number; isOpen: boolean; key: string }
  | { kind: "more"; value: string | null; left: number; key: string }
  | { kind: "others"; text: string; key: string };

interface Opened {
  runs: Run[];
  next: string | null;
}

export interface Groups {
  rows: Row[];
  facets: Loaded<Facets>;
  toggle: (value: string | null) => void;
  more: (value: string | null) => void;
}

const NONE = "\u0000"; // no name holds it
const opening = (value: string | null): string => value ?? NONE;

export function useGroups(asked: Question, field: string, turn: number): Groups {
  // every run has a status: counted in the same answer, they say of how many runs the groups are
  const facets = useLoaded<Facets>(field ? "/api/v1/runs/facets" : null, { q: asked.q, names: [...new Set([field, "status"])] });
  const [opened, setOpened] = useState<ReadonlyMap<string, Opened>>(new Map());
  const open = new Set(field ? openGroups() : []);
  const key = JSON.stringify([asked, field]);
  const asking = useRef(key);
  asking.current = key;
  const read = (value: string, limit: number, cursor: string | null, before: readonly Run[]): void => {
    const part = value === NONE ? without(field) : comparison(field, value);
    readPage({ ...asked, q: both(asked.q, part) }, { limit, cursor }).then(
      (page) => {
        if (asking.current === key) setOpened((map) => new Map(map).set(value, { runs: [...before, ...page.runs], next: page.next }));
      },
      (problem: unknown) => tell({ text: asProblem(problem).message }),
    );
  };
  /** Count again, and read the open groups again as far as they were read. */
  const again = (): void => {
    if (!field) return;
    facets.again();
    for (const value of open) read(value, Math.min(MOST_RUNS, Math.max(MORE_RUNS, opened.get(value)?.runs.length ?? 0)), null, []);
  };
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    setOpened(new Map());
    for (const value of open) read(value, MORE_RUNS, null, []);
  }, [key]);
  useEffect(() => (turn ? latest.current() : undefined), [turn]);
  useEffect(() => {
    if (!field) return;
    const look = throttle(LOOK_MILLISECONDS, () => latest.current());
    return listen((event) => {
      if (event.kind === "run") setOpened((before) => told(before, event.data));
      if (event.kind === "run" || event.kind === "reset") look();
    });
  }, [field]);
  const toggle = (value: string | null): void => {
    const name = opening(value);
    if (!open.delete(name)) {
      open.add(name);
      if (!opened.has(name)) read(name, MORE_RUNS, null, []);
    }
    setQuery({ open: [...open].map(encodeURIComponent).join(",") });
  };
  const more = (value: string | null): void => {
    const known = opened.get(opening(value));
    if (known) read(opening(value), MORE_RUNS, known.next, known.runs);
  };
  return { rows: field ? rowsOf(facets.data?.facets[field] ?? [], counted(facets.data), open, opened) : [], facets, toggle, more };
}

/** Count the runs that were counted. */
function counted(found: Facets | undefined): number {
  return (found?.facets["status"] ?? []).reduce((sum, one) => sum + one.count, 0);
}

/** Put what is told of a run into the row that shows it. */
function told(before: ReadonlyMap<string, Opened>, data: Record<string, unknown>): ReadonlyMap<string, Opened> {
  if (typeof data["status"] !== "string") return before;
  const change = (run: Run): Run => (run.run_id === data["run_id"] ? (data as unknown as Run) : run);
  return new Map([...before].map(([name, { runs, next }]) => [name, { runs: runs.map(change), next }]));
}

function openGroups(): string[] {
  return (query.value.get("open") ?? "").split(",").filter(Boolean).map(decodeURIComponent);
}

function rowsOf(
  counted: readonly { value: string; count: number }[],
  total: number,
  open: ReadonlySet<string>,
  opened: ReadonlyMap<string, Opened>,
): Row[] {
  const rest = total - counted.reduce((sum, one) => sum + one.count, 0);
  const isAll = counted.length < MOST_GROUPS;
  const groups: { value: string | null; count: number }[] = [...counted, ...(isAll && rest > 0 ? [{ value: null, count: rest }] : [])];
  const rows = groups.flatMap(({ value, count }): Row[] => {
    const name = opening(value);
    const isOpen = open.has(name);
    const head: Row = { kind: "group", value, count, isOpen, key: `group ${name}` };
    const held = isOpen ? opened.get(name) : undefined;
    if (!held) return [head];
    const runs = held.runs.map((run): Row => ({ kind: "run", run, key: `${name} ${run.run_id}` }));
    const left = count - held.runs.length;
    return [head, ...runs, ...(held.next === null ? [] : [{ kind: "more" as const, value, left, key: `more ${name}` }])];
  });
  const told = `${rest.toLocaleString("en")} runs in smaller groups or in none: filter to see them`;
  return isAll || rest <= 0 ? rows : [...rows, { kind: "others", text: told, key: "others" }];
}
