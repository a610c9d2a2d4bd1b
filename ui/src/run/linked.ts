// The part of a run that is looked at and how smooth its lines are, as they stand in the address: a link brings another
// person to the same view. They are written once hands rest, since browsers let nobody write on with every movement.
import { signal, type Signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Range } from "../chart/chart.tsx";
import { query, setQuery } from "../router.ts";
import { REST_MILLISECONDS, useSettled } from "./fine.ts";

const MOST_SMOOTHING = 0.99;

export interface Linked {
  range: Signal<Range | null>;
  /** The range once hands rest. */
  settled: Range | null;
  smoothing: number;
  setSmoothing: (weight: number) => void;
}

export function useLinked(): Linked {
  const [zoom, smooth] = [query.value.get("zoom"), query.value.get("smooth")];
  const range = useMemo(() => signal(rangeOf(zoom)), []);
  const settled = useSettled(range);
  const [smoothing, setSmoothing] = useState(weightOf(smooth));
  useTold(zoom, settled && `${settled.from.toFixed(3)}_${settled.to.toFixed(3)}`, 0, "zoom", (text) => (range.value = rangeOf(text)));
  useTold(smooth, smoothing ? String(smoothing) : null, REST_MILLISECONDS, "smooth", (text) => setSmoothing(weightOf(text)));
  return { range, settled, smoothing, setSmoothing };
}

/** Write a word of the address when what is shown changes, and show what it says when another address is gone to. */
function useTold(told: string | null, shown: string | null, rest: number, name: string, show: (text: string | null) => void): void {
  const written = useRef(told);
  useEffect(() => {
    if (shown === written.current) return;
    const timer = setTimeout(() => {
      written.current = shown;
      setQuery({ [name]: shown });
    }, rest);
    return () => clearTimeout(timer);
  }, [shown]);
  useEffect(() => {
    if (told === written.current) return;
    written.current = told;
    show(told);
  }, [told]);
}

function rangeOf(text: string | null): Range | null {
  const [from = NaN, to = NaN] = (text ?? "").split("_").map(Number);
  return to > from ? { from, to } : null;
}

function weightOf(text: string | null): number {
  const weight = Number(text);
  return weight > 0 && weight <= MOST_SMOOTHING ? weight : 0;
}
