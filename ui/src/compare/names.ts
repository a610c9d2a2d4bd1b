// What compared runs are called: by their names, and where several have the same, by the end of their ids too.
import { nameOf } from "../parts/run_columns.tsx";
import type { Run } from "../types.ts";

const TOLD_APART = 6;

export function namesOf(runs: readonly Run[]): string[] {
  const names = runs.map(nameOf);
  return names.map((name, place) => {
    const isAlone = names.filter((other) => other === name).length === 1;
    return isAlone ? name : `${name} …${runs[place]?.run_id.slice(-TOLD_APART)}`;
  });
}
