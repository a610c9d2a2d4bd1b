// Charts in view, as fine as they are drawn: the part that is looked at is asked for again at full resolution.
import type { Signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Range } from "../chart/chart.tsx";
import { spliced, type Drawn } from "../chart/lines.ts";
import type { Scale } from "../chart/scale.ts";
import { useLoaded } from "../load.ts";
import { curveDrawn, drawn, type Panel } from "../panels.ts";
import type { Curves, Lines } from "../types.ts";
import type { View } from "./charts.tsx";

const POINTS = 500;
export const REST_MILLISECONDS = 150;

/** A range once it has not moved for a moment. */
export function useSettled(range: Signal<Range | null>): Range | null {
  const [settled, setSettled] = useState<Range | null>(range.peek());
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = range.subscribe((next) => {
      clearTimeout(timer);
      timer = setTimeout(() => setSettled(next), REST_MILLISECONDS);
    });
    return () => {
      clearTimeout(timer);
      end();
    };
  }, [range]);
  return settled;
}

/** What to ask for: some of both sides with it, so that a hand that moves along does not run into nothing. */
function part(range: Range | null): { from?: number; to?: number; points: number } {
  if (!range) return { points: POINTS };
  const side = (range.to - range.from) / 2;
  return { from: range.from - side, to: range.to + side, points: 2 * POINTS };
}

export function useFineLines(view: View, panel: Panel, isWanted: boolean): Drawn[] {
  const asked = { keys: panel.names, ...part(view.settled) };
  const { data } = useLoaded<Lines>(isWanted ? `${view.at}/series` : null, asked, view.version);
  return useMemo(() => {
    const found = new Map((data?.series ?? []).map((line) => [`${line.key} ${line.instance}`.trim(), line]));
    return panel.lines.map((line, hue) => {
      const own = isWanted ? found.get(line.label) : undefined;
      return own ? spliced(line, drawn(own, hue, 0)) : line;
    });
  }, [panel, data, isWanted]);
}

/** Of a metric; `own` is the range in steps where nobody knows when they were taken. */
export function useFineCurves(view: View, panel: Panel, isWanted: boolean, clock: Scale | undefined, own: Signal<Range | null>): Drawn[] {
  const alone = useSettled(own);
  const range = clock ? view.settled && { from: clock.toX(view.settled.from), to: clock.toX(view.settled.to) } : alone;
  const { from, to, points } = part(range);
  const asked = { metrics: panel.names, points, ...(from === undefined || to === undefined ? {} : { from: Math.floor(from), to: Math.ceil(to) }) };
  const { data } = useLoaded<Curves>(isWanted ? `${view.at}/steps` : null, asked, view.version);
  return useMemo(() => {
    const found = isWanted ? (data?.series ?? []) : [];
    if (found.length !== panel.lines.length) return panel.lines;
    return panel.lines.map((line, hue) => spliced(line, found[hue] && curveDrawn(found[hue], hue)));
  }, [panel, data, isWanted]);
}
