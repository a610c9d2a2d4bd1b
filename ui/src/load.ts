// Answers of the server as component state: loading, here, or a problem. Another question cancels the one before; news
// of the same question do not, or what speaks faster than the server answers would never be shown.
import { useEffect, useRef, useState } from "preact/hooks";
import { asProblem, get, type Problem, type Query } from "./api.ts";

export interface Loaded<T> {
  data: T | undefined;
  problem: Problem | undefined;
  isLoading: boolean;
  again: () => void;
}

const AHEAD_MILLISECONDS = 10_000;
/** An answer that is not here by then comes no more: its connection is dead. */
const PATIENCE_MILLISECONDS = 60_000;
const ahead = new Map<string, Promise<unknown>>();

const keyOf = (path: string, query: Query): string => path + JSON.stringify(query);

/** Ask before anybody is there to show the answer; who asks the same soon afterwards gets it. */
export function askAhead(path: string, query: Query): void {
  const key = keyOf(path, query);
  const asked = get<unknown>(path, query);
  asked.catch(() => ahead.delete(key)); // it is asked for again, and then told
  ahead.set(key, asked);
  setTimeout(() => ahead.delete(key), AHEAD_MILLISECONDS);
}

function taken<T>(key: string): Promise<T> | undefined {
  const found = ahead.get(key) as Promise<T> | undefined;
  ahead.delete(key);
  return found;
}

interface State<T> {
  data?: T;
  problem?: Problem;
  key?: string;
}

interface Flight {
  key: string;
  since: number;
  abort: AbortController;
  /** Something happened after it was asked: it is asked once more. */
  isStale: boolean;
}

/** Ask whenever the question changes, and again when `version` does; what was shown stays until the next answer is here. */
export function useLoaded<T>(path: string | null, query: Query = {}, version: number | string = 0): Loaded<T> {
  const [state, setState] = useState<State<T>>({});
  const [turn, setTurn] = useState(0);
  const key = path === null ? "" : keyOf(path, query);
  const asked = useRef(path);
  const flight = useRef<Flight | undefined>(undefined);
  const ask = (): void => {
    if (path === null) return;
    const mine: Flight = (flight.current = { key, since: Date.now(), abort: new AbortController(), isStale: false });
    const done = (next: (before: State<T>) => State<T>): void => {
      if (flight.current !== mine) return;
      flight.current = undefined;
      setState(next);
      if (mine.isStale) ask();
    };
    (taken<T>(key) ?? get<T>(path, query, mine.abort.signal)).then(
      (data) => done(() => ({ data, key })),
      (problem: unknown) => done((before) => ({ ...before, problem: asProblem(problem), key })),
    );
  };
  useEffect(() => {
    const before = flight.current;
    if (before?.key === key && Date.now() - before.since < PATIENCE_MILLISECONDS) {
      before.isStale = true;
      return;
    }
    before?.abort.abort();
    flight.current = undefined;
    if (path !== null && asked.current !== path) setState({});
    asked.current = path ?? asked.current;
    ask();
  }, [key, version, turn]);
  useEffect(
    () => () => {
      flight.current?.abort.abort();
      flight.current = undefined;
    },
    [],
  );
  return {
    data: state.data,
    problem: state.problem,
    isLoading: path !== null && state.key !== key,
    again: () => setTurn((before) => before + 1),
  };
}

/** Do something at most once in so many milliseconds, and once more at the end. */
export function throttle(milliseconds: number, act: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = 0;
  return () => {
    if (timer !== undefined) return;
    const wait = Math.max(0, last + milliseconds - Date.now());
    timer = setTimeout(() => {
      timer = undefined;
      last = Date.now();
      act();
    }, wait);
  };
}
