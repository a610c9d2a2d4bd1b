// What hands do to a chart: drag to zoom, Shift+drag or the wheel to move along, a click to go to a moment; the same by
// keys, and by fingers. All of it changes the range and the crosshair that the charts of a page share.
import { signal, type Signal } from "@preact/signals";
import uPlot from "uplot";
import type { Range } from "./chart.tsx";
import { below, closest } from "./lines.ts";
import type { Latest } from "./plot.ts";
import { listenToFingers } from "./touch.ts";

const MOVED_PIXELS = 4;
const DOUBLE_CLICK_MILLISECONDS = 280;
const crosshairs = new WeakMap<Signal<Range | null>, Signal<number | null>>();

/** The moment under the crosshair: one for all charts that share a range. */
export function crosshairOf(range: Signal<Range | null>): Signal<number | null> {
  let found = crosshairs.get(range);
  if (!found) crosshairs.set(range, (found = signal<number | null>(null)));
  return found;
}

/** Show a part of the axis, in what the axis counts. */
function show(latest: Latest, from: number, to: number): void {
  const { range, scale } = latest.current;
  if (!(to > from)) return;
  range.value = scale ? { from: scale.fromX(from), to: scale.fromX(to) } : { from, to };
}

function shown(plot: uPlot): [number, number] | undefined {
  const { min, max } = plot.scales["x"] ?? {};
  return typeof min === "number" && typeof max === "number" ? [min, max] : undefined;
}

function point(latest: Latest, x: number): void {
  const { range, scale } = latest.current;
  crosshairOf(range).value = scale ? scale.fromX(x) : x;
}

function leave(latest: Latest): void {
  crosshairOf(latest.current.range).value = null;
}

export function listen(plot: uPlot, latest: Latest): void {
  let downAt = { x: 0, isPan: false };
  let clicking: ReturnType<typeof setTimeout> | undefined;
  const { over } = plot;
  over.addEventListener(
    "mousedown",
    (event) => {
      downAt = { x: event.clientX, isPan: event.shiftKey || event.button === 1 };
      if (!downAt.isPan) return;
      event.preventDefault();
      event.stopImmediatePropagation(); // no zoom by the same hand
      pan(plot, latest, event.clientX);
    },
    { capture: true },
  );
  over.addEventListener("mousemove", (event) => {
    if (!downAt.isPan || event.buttons === 0) point(latest, plot.posToVal(event.offsetX, "x"));
  });
  over.addEventListener("mouseleave", () => leave(latest));
  over.addEventListener("dblclick", () => {
    clearTimeout(clicking);
    latest.current.range.value = null;
  });
  over.addEventListener("click", (event) => {
    if (Math.abs(event.clientX - downAt.x) >= MOVED_PIXELS || downAt.isPan) return;
    const x = plot.posToVal(event.offsetX, "x");
    clearTimeout(clicking); // a second click means the whole run
    clicking = setTimeout(() => pick(latest, x), DOUBLE_CLICK_MILLISECONDS);
  });
  over.addEventListener("wheel", (event) => wheel(plot, latest, event), { passive: false });
  listenToFingers(plot, latest, { shown, show, point, leave });
}

function pick(latest: Latest, x: number): void {
  const { scale, onPick } = latest.current;
  onPick?.(scale ? scale.fromX(x) : x);
}

function pan(plot: uPlot, latest: Latest, beginX: number): void {
  const ends = shown(plot);
  if (!ends) return;
  crosshairOf(latest.current.range).value = null;
  const perPixel = (ends[1] - ends[0]) / plot.over.clientWidth;
  const stop = new AbortController();
  const move = (event: MouseEvent): void => {
    const by = (beginX - event.clientX) * perPixel;
    show(latest, ends[0] + by, ends[1] + by);
  };
  addEventListener("mousemove", move, { signal: stop.signal });
  addEventListener("mouseup", () => stop.abort(), { signal: stop.signal });
}

function wheel(plot: uPlot, latest: Latest, event: WheelEvent): void {
  const ends = shown(plot);
  if (!ends) return;
  const isPan = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
  if (!isPan && !event.ctrlKey && !event.metaKey) return; // the page scrolls
  event.preventDefault();
  const [min, max] = ends;
  if (isPan) {
    const move = ((max - min) * (event.deltaX || event.deltaY)) / 1200;
    show(latest, min + move, max + move);
    return;
  }
  zoom(latest, ends, plot.posToVal(event.offsetX, "x"), event.deltaY > 0 ? 1.25 : 0.8);
}

function zoom(latest: Latest, [min, max]: [number, number], at: number, factor: number): void {
  show(latest, at - (at - min) * factor, at + (max - at) * factor);
}

/** Zoom to what was dragged over. */
export function selected(plot: uPlot, latest: Latest): void {
  const { left, width } = plot.select;
  if (width < MOVED_PIXELS) return;
  show(latest, plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
  plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
}

export const KEYS = "ArrowLeft ArrowRight + - 0 Enter";

/** Do what a key says; true where it was one of ours. */
export function key(plot: uPlot, latest: Latest, event: KeyboardEvent): boolean {
  const ends = shown(plot);
  if (!ends || event.ctrlKey || event.metaKey || event.altKey) return false;
  const { range, scale } = latest.current;
  const moment = crosshairOf(range).peek();
  const at = moment === null ? undefined : (scale?.toX(moment) ?? moment);
  const [min, max] = ends;
  const width = max - min;
  const sign = event.key === "ArrowLeft" ? -1 : 1;
  switch (event.key) {
    case "ArrowLeft":
    case "ArrowRight":
      if (event.shiftKey) show(latest, min + (sign * width) / 10, max + (sign * width) / 10);
      else point(latest, next(plot.data[0], ends, at, sign));
      return true;
    case "+":
    case "=":
      zoom(latest, ends, at ?? min + width / 2, 0.5);
      return true;
    case "-":
      zoom(latest, ends, at ?? min + width / 2, 2);
      return true;
    case "0":
    case "Escape":
      range.value = null;
      return true;
    case "Enter":
      if (at !== undefined) pick(latest, at);
      return true;
    default:
      return false;
  }
}

/** The next point that is in view, from its end where the crosshair is nowhere. */
function next(xs: ArrayLike<number>, [min, max]: [number, number], at: number | undefined, sign: number): number {
  const [first, last] = [below(xs, min), below(xs, max, true) - 1];
  // from moment to step and back a number is no longer quite the same: the point it is nearest to counts
  const place = at === undefined ? undefined : closest(xs, at);
  if (place === undefined || place < first || place > last) return xs[sign < 0 ? last : first] ?? min;
  return xs[Math.min(last, Math.max(first, place + sign))] ?? min;
}
