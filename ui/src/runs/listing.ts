// Runs as they are scrolled to: pages that follow one another by cursor, kept fresh by the live stream.
import { useEffect, useRef, useState } from "preact/hooks";
import { asProblem, get, type Problem, type Query } from "../api.ts";
import { throttle } from "../load.ts";
import { listen, type Live } from "../stream.ts";
import type { Run, RunsPage } from "../types.ts";

export const FIRST_RUNS = 100;
const NEXT_RUNS = 400;
const LATER_RUNS = 1000;
/** What one answer of the server holds at most. */
const MOST_RUNS = 1000;

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
  const shown = useRef(state);
  shown.current = state;
  useEffect(() => (asked ? follow(asked, shown, setState) : undefined), [key]);
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

type Change = (change: (before: Listing) => Listing) => void;

/** Put what is told into the rows that show it, and look at the first ones again: runs begin, and orders change. */
function follow(asked: Question, shown: { readonly current: Listing }, setState: Change): () => void {
  const key = JSON.stringify(asked);
  let [reach, isAnew] = [FIRST_RUNS, false];
  const look = throttle(1000, () => {
    const [limit, isWhole] = [Math.min(MOST_RUNS, reach), isAnew];
    [reach, isAnew] = [FIRST_RUNS, false];
    void readPage(asked, { limit }).then(
      (page) => {
        if (!isWhole && shown.current.runs.length > limit && !isContinued(shown.current, page)) return readAll();
        setState((before) => (before.answers !== key ? before : isWhole ? { ...before, ...page, problem: undefined } : merged(before, page)));
      },
      () => undefined, // the next event asks again
    );
  });
  const readAll = (): void => {
    [reach, isAnew] = [Math.max(FIRST_RUNS, shown.current.runs.length), true];
    look();
  };
  return listen((event) => {
    if (event.kind === "reset") return readAll(); // whatever happened meanwhile was missed
    if (event.kind === "connected") look(); // what happened between the first answer and now was told to nobody
    if (event.kind !== "run") return;
    // a row further down may match no more: the look has to reach it
    reach = Math.max(reach, 1 + shown.current.runs.findIndex((run) => run.run_id === event.data["run_id"]));
    setState((before) => told(before, event));
    look();
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

/** Find the row that fresh rows end at; -1 where they leave one out that stood before it, or know none: something lies between. */
function meeting(runs: readonly Run[], page: RunsPage): number {
  const fresh = new Set(page.runs.map((run) => run.run_id));
  const places = new Map(runs.map((run, place) => [run.run_id, place]));
  const last = page.runs.findLast((run) => places.has(run.run_id));
  const place = last ? (places.get(last.run_id) ?? -1) : -1;
  return runs.slice(0, place + 1).every((run) => fresh.has(run.run_id)) ? place : -1;
}

/** Tell whether what was read behind fresh rows still goes on from them: the two meet, and no run came or went further down. */
function isContinued(before: Listing, page: RunsPage): boolean {
  const known = new Set(before.runs.map((run) => run.run_id));
  const come = page.runs.filter((run) => !known.has(run.run_id)).length;
  return meeting(before.runs, page) >= 0 && page.total === before.total + come;
}

/** Put fresh rows in place of the old ones, and keep what was read behind them; where they do not meet, begin anew. */
function merged(before: Listing, page: RunsPage): Listing {
  const place = meeting(before.runs, page);
  const fresh = new Set(page.runs.map((run) => run.run_id));
  const behind = place < 0 ? [] : before.runs.slice(place + 1).filter((run) => !fresh.has(run.run_id));
  if (behind.length === 0 || page.next === null) return { ...before, ...page, problem: undefined };
  return { ...before, runs: [...page.runs, ...behind], total: page.total, problem: undefined };
}
