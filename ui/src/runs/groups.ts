// Runs by what they have in common: the groups with their counts, and the runs of those that are open.
import { useEffect, useRef, useState } from "preact/hooks";
import { useLoaded, type Loaded } from "../load.ts";
import { query, setQuery } from "../router.ts";
import type { Facets, Run } from "../types.ts";
import { both, comparison, without } from "./grammar.ts";
import { asProblem, readPage, type Question } from "./listing.ts";
import { tell } from "../parts/overlays.tsx";

/** What the server counts apart at most. */
const MOST_GROUPS = 100;
const MORE_RUNS = 200;

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

export function useGroups(asked: Question, field: string, total: number, turn: number): Groups {
  const facets = useLoaded<Facets>(field ? "/api/v1/runs/facets" : null, { q: asked.q, names: field, turn: undefined });
  const [opened, setOpened] = useState<ReadonlyMap<string, Opened>>(new Map());
  const open = new Set(field ? openGroups() : []);
  const key = JSON.stringify([asked, field, turn]);
  const asking = useRef(key);
  asking.current = key;
  const read = (value: string, cursor: string | null, before: readonly Run[]): void => {
    const part = value === NONE ? without(field) : comparison(field, value);
    readPage({ ...asked, q: both(asked.q, part) }, { limit: MORE_RUNS, cursor }).then(
      (page) => {
        if (asking.current === key) setOpened((map) => new Map(map).set(value, { runs: [...before, ...page.runs], next: page.next }));
      },
      (problem: unknown) => tell({ text: asProblem(problem).message }),
    );
  };
  useEffect(() => {
    setOpened(new Map());
    for (const value of open) read(value, null, []);
    if (turn) facets.again();
  }, [key]);
  const toggle = (value: string | null): void => {
    const name = opening(value);
    if (!open.delete(name)) {
      open.add(name);
      if (!opened.has(name)) read(name, null, []);
    }
    setQuery({ open: [...open].map(encodeURIComponent).join(",") });
  };
  const more = (value: string | null): void => {
    const known = opened.get(opening(value));
    if (known) read(opening(value), known.next, known.runs);
  };
  return { rows: field ? rowsOf(facets.data?.facets[field] ?? [], total, open, opened) : [], facets, toggle, more };
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
