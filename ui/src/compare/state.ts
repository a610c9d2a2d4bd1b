// What is compared and how it is shown, all of it in the address.
import { query, setQuery } from "../router.ts";

export const MOST_RUNS = 10;

export interface Shown {
  /** The first is the one that others are held against. */
  ids: string[];
  /** Named in the address, but more than fit. */
  left: number;
  axis: "time" | "step";
  isLog: boolean;
  smoothing: number;
  hidden: ReadonlySet<string>;
  onlyDifferent: boolean;
}

function list(name: string): string[] {
  return [...new Set((query.value.get(name) ?? "").split(",").filter(Boolean))];
}

export function shown(): Shown {
  const all = list("runs");
  const smoothing = Number(query.value.get("smooth") ?? 0);
  return {
    ids: all.slice(0, MOST_RUNS),
    left: Math.max(0, all.length - MOST_RUNS),
    axis: query.value.get("x") === "step" ? "step" : "time",
    isLog: query.value.get("log") === "1",
    smoothing: smoothing > 0 && smoothing < 1 ? smoothing : 0,
    hidden: new Set(list("hide")),
    onlyDifferent: query.value.get("only") === "different",
  };
}

export function setRuns(ids: readonly string[]): void {
  setQuery({ runs: ids.join(",") }, { replace: false });
}

export function toggleHidden(id: string, hidden: ReadonlySet<string>): void {
  const next = new Set(hidden);
  if (!next.delete(id)) next.add(id);
  setQuery({ hide: [...next].join(",") });
}
