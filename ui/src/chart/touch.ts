// What fingers do to a chart: two zoom and move along, one moves along where a part is shown and points where the whole
// run is. Up and down stays with the page, which scrolls (`touch-action` in charts.css); a tap is a click.
import type uPlot from "uplot";
import type { Latest } from "./plot.ts";

interface Hands {
  shown: (plot: uPlot) => [number, number] | undefined;
  show: (latest: Latest, from: number, to: number) => void;
  point: (latest: Latest, x: number) => void;
  leave: (latest: Latest) => void;
}

export function listenToFingers(plot: uPlot, latest: Latest, hands: Hands): void {
  const { over } = plot;
  const fingers = new Map<number, number>();
  /** Values of the axis that the fingers took hold of: they stay under them. */
  let held: number[] = [];
  const places = (): number[] => [...fingers.values()].map((x) => x - over.getBoundingClientRect().left);
  const hold = (): void => void (held = places().map((x) => plot.posToVal(x, "x")));
  const isFinger = (event: PointerEvent): boolean => event.pointerType === "touch";
  over.addEventListener("pointerdown", (event) => {
    if (!isFinger(event) || fingers.size >= 2) return;
    fingers.set(event.pointerId, event.clientX);
    hold();
  });
  over.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, event.clientX);
    const [one = 0, other] = places();
    if (other !== undefined || latest.current.range.peek() !== null) {
      follow(plot, latest, hands, held, [one, other]);
      return;
    }
    hands.point(latest, plot.posToVal(one, "x"));
    plot.setCursor({ left: one, top: 0 }, false); // after a tap a browser takes the finger for a hand that hovers
  });
  for (const end of ["pointerup", "pointercancel"] as const) {
    over.addEventListener(end, (event) => {
      if (!fingers.delete(event.pointerId)) return;
      hold();
      if (fingers.size === 0) hands.leave(latest);
    });
  }
}

/** Lay the axis so that what was taken hold of is where the fingers are. */
function follow(plot: uPlot, latest: Latest, hands: Hands, held: readonly number[], [one, other]: [number, number | undefined]): void {
  const ends = hands.shown(plot);
  const [first, second] = held;
  if (!ends || first === undefined) return;
  const width = plot.over.clientWidth;
  const isPinch = other !== undefined && second !== undefined;
  // fingers that cross or lie on one another say nothing
  const perPixel = isPinch ? (second - first) / (other - one) : (ends[1] - ends[0]) / width;
  if (!(perPixel > 0) || !Number.isFinite(perPixel)) return;
  const from = first - one * perPixel;
  hands.show(latest, from, from + width * perPixel);
}
