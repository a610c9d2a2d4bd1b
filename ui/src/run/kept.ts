// Answers of the server that are kept fresh while a run goes on. Another question cancels the one before; news of the
// same question does not, or a run that speaks faster than the server answers would never be shown.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, Problem, type Query } from "../api.ts";
import { throttle } from "../load.ts";
import { isAbout, listen } from "../stream.ts";

const NEWS_MILLISECONDS = 500;

export interface Kept<T> {
  data: T | undefined;
  problem: Problem | undefined;
}

const ahead = new Map<string, Promise<unknown>>();
const AHEAD_MILLISECONDS = 10_000;

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

/** Ask, and ask again whenever `version` moves on; what was shown stays until the next answer is here. */
export function useKept<T>(path: string | null, query: Query, version: number): Kept<T> {
  const [state, setState] = useState<Kept<T>>({ data: undefined, problem: undefined });
  const flight = useRef<{ key: string; abort: AbortController; isStale: boolean } | undefined>(undefined);
  const key = path === null ? "" : keyOf(path, query);
  const ask = (): void => {
    if (path === null) return;
    const abort = new AbortController();
    const mine = (flight.current = { key, abort, isStale: false });
    const done = (next: (before: Kept<T>) => Kept<T>): void => {
      if (flight.current !== mine) return;
      flight.current = undefined;
      setState(next);
      if (mine.isStale) ask();
    };
    (taken<T>(key) ?? get<T>(path, query, abort.signal)).then(
      (data) => done(() => ({ data, problem: undefined })),
      (problem: unknown) => {
        const told = problem instanceof Problem ? problem : new Problem(0, String(problem));
        if (!abort.signal.aborted) done((before) => ({ ...before, problem: told }));
      },
    );
  };
  useEffect(() => {
    if (flight.current?.key === key) {
      flight.current.isStale = true;
      return;
    }
    flight.current?.abort.abort();
    flight.current = undefined;
    ask();
  }, [key, version]);
  useEffect(() => () => flight.current?.abort.abort(), []);
  return state;
}

/** Count what happens to a run, and what may have been missed. */
export function useNews(id: string): number {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const look = throttle(NEWS_MILLISECONDS, () => setVersion((before) => before + 1));
    return listen((event) => {
      if (isAbout(event, id)) look();
    });
  }, [id]);
  return version;
}
