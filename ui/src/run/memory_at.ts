// The memory that a job had at the lines of its output.
import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { below } from "../chart/lines.ts";
import { useLoaded } from "../load.ts";
import type { Lines } from "../types.ts";

/** The measurement that the memory chart draws first. */
export const memoryKey = signal<string | null>(null);

const POINTS = 2000;
const AROUND_SECONDS = 60;
/** While lines come, how often the memory is read again. */
const FRESH_SECONDS = 5;

const rounded = (moment: number): number => Math.floor(moment / AROUND_SECONDS) * AROUND_SECONDS;

/** Say how much memory a job had at a moment between two; undefined where nobody measured then. */
export function useMemoryAt(id: string, first: number | undefined, last: number | undefined): (moment: number) => number | undefined {
  const key = memoryKey.value;
  const isKnown = key !== null && first !== undefined && last !== undefined;
  const { data } = useLoaded<Lines>(
    isKnown ? `/api/v1/runs/${encodeURIComponent(id)}/series` : null,
    isKnown ? { keys: [key], from: rounded(first - AROUND_SECONDS), to: rounded(last + 2 * AROUND_SECONDS), points: POINTS } : {},
    Math.floor((last ?? 0) / FRESH_SECONDS),
  );
  return useMemo(() => {
    const line = data?.series[0];
    if (!line) return () => undefined;
    // a stretch stands for the time until its last sample
    return (moment: number) => line.max[Math.min(line.t.length - 1, below(line.t, moment))] ?? undefined;
  }, [data]);
}
