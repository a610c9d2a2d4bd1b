// Runs as they are scrolled to: pages that follow one another by cursor, kept fresh by the live stream.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, Problem, type Query } from "../api.ts";
import { throttle } from "../load.ts";
import { listen, type Live } from "../stream.ts";
import type { Run, RunsPage } from "../types.ts";

export const FIRST_RUNS = 100;
const NEXT_RUNS = 400;
const LATER_RUNS = 1000;

export interface Question {
  q: string;
  sort: string;
  order: string;
  fields: string;
}

export interface Listing {
  runs: Run[];
  total: number;
  next: string | null;
  problem?: Problem | undefined;
  isLoading: boolean;
  /** The question that is answered here; another one may be on its way. */
  answers: string;
}

export type Kept = Listing & { more: () => void; again: () => void; hide: (ids: readonly string[]) => void };

const NOTHING: Listing = { runs: [], total: 0, next: null, isLoading: true, answers: "" };

export async function readPage(asked: Question, more: Query = {}, abort?: AbortSignal): Promise<RunsPage> {
  return get<RunsPage>("/api/v1/runs", { ...asked, limit: FIRST_RUNS, ...more }, abort);
}

/** Keep the runs that a question finds; nothing is asked while it is null. */
export function useListing(asked: Question | null): Kept {
  const [state, setState] = useState<Listing>(NOTHING);
  const [turn, setTurn] = useState(0);
  const busy = useRef<string | undefined>(undefined);
  const key = asked ? JSON.stringify(asked) : "";
  useEffect(() => {
    if (!asked) return;
    const abort = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    readPage(asked, {}, abort.signal).then(
      (page) => setState({ ...page, isLoading: false, answers: key }),
      (problem: unknown) => {
        if (!abort.signal.aborted) setState({ ...NOTHING, isLoading: false, problem: asProblem(problem), answers: key });
      },
    );
    return () => abort.abort();
  }, [key, turn]);
  useEffect(() => (asked ? follow(asked, setState) : undefined), [key]);
  const more = (): void => {
    const { next } = state;
    if (!asked || next === null || busy.current === next || state.answers !== key) return;
    busy.current = next;
    readPage(asked, { limit: state.runs.length < LATER_RUNS ? NEXT_RUNS : LATER_RUNS, cursor: next })
      .then((page) => setState((before) => (before.next === next ? extended(before, page) : before)))
      .catch((problem: unknown) => setState((before) => ({ ...before, problem: asProblem(problem) })))
      .finally(() => (busy.current = undefined));
  };
  const hide = (ids: readonly string[]): void => setState((before) => removed(before, new Set(ids)));
  return { ...state, more, hide, again: () => setTurn((before) => before + 1) };
}

export function asProblem(problem: unknown): Problem {
  return problem instanceof Problem ? problem : new Problem(0, String(problem));
}

type Change = (change: (before: Listing) => Listing) => void;

/** Put what is told into the rows that show it, and look at the first page again: runs begin, and orders change. */
function follow(asked: Question, setState: Change): () => void {
  const look = throttle(1000, () => {
    void readPage(asked).then(
      (page) => setState((before) => (before.answers === JSON.stringify(asked) ? merged(before, page) : before)),
      () => undefined, // the next event asks again
    );
  });
  return listen((event) => {
    if (event.kind === "run") setState((before) => told(before, event));
    if (event.kind === "run" || event.kind === "reset") look();
  });
}

function told(before: Listing, { data }: Live): Listing {
  const place = before.runs.findIndex((run) => run.run_id === data["run_id"]);
  if (place < 0) return before;
  if (data["removed"]) return removed(before, new Set([String(data["run_id"])]));
  if (typeof data["status"] !== "string") return before; // too long to be told: the look at the first page brings it
  return { ...before, runs: before.runs.with(place, data as unknown as Run) };
}

function removed(before: Listing, ids: ReadonlySet<string>): Listing {
  const runs = before.runs.filter((run) => !ids.has(run.run_id));
  return { ...before, runs, total: before.total - (before.runs.length - runs.length) };
}

function extended(before: Listing, page: RunsPage): Listing {
  const known = new Set(before.runs.map((run) => run.run_id));
  return { ...before, runs: [...before.runs, ...page.runs.filter((run) => !known.has(run.run_id))], next: page.next, total: page.total };
}

/** Put a fresh first page in place of the old one, and keep what was read behind it. */
function merged(before: Listing, page: RunsPage): Listing {
  if (before.runs.length <= FIRST_RUNS) return { ...before, ...page, problem: undefined };
  const fresh = new Set(page.runs.map((run) => run.run_id));
  return { ...before, runs: [...page.runs, ...before.runs.filter((run) => !fresh.has(run.run_id))], total: page.total };
}
