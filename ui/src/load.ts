// Answers of the server as component state: loading, here, or a problem; a newer question cancels an older one.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, Problem, type Query } from "./api.ts";

export interface Loaded<T> {
  data: T | undefined;
  problem: Problem | undefined;
  isLoading: boolean;
  again: () => void;
}

/** Ask whenever the question changes; what was shown stays until the next answer is here. */
export function useLoaded<T>(path: string | null, query: Query = {}): Loaded<T> {
  const [state, setState] = useState<{ data?: T; problem?: Problem; key?: string }>({});
  const [turn, setTurn] = useState(0);
  const key = path === null ? "" : path + JSON.stringify(query);
  const asked = useRef(path);
  useEffect(() => {
    if (path === null) return;
    const abort = new AbortController();
    const isOther = asked.current !== path;
    asked.current = path;
    if (isOther) setState({});
    get<T>(path, query, abort.signal).then(
      (data) => setState({ data, key }),
      (problem: unknown) => {
        if (abort.signal.aborted) return;
        const told = problem instanceof Problem ? problem : new Problem(0, String(problem));
        setState((before) => ({ ...before, problem: told, key }));
      },
    );
    return () => abort.abort();
  }, [key, turn]);
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
