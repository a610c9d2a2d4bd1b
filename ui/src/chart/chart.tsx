// One chart: lines with their extremes, event marks, a limit, zones; crosshair and range shared with all charts of a page.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { signal, useSignal, useSignalEffect, type ReadonlySignal, type Signal } from "@preact/signals";
import uPlot from "uplot";
import "../style/charts.css";
import { isDark } from "../theme.ts";
import { crosshairOf, key, KEYS, listen, selected } from "./gestures.ts";
import { Crossed, Legend, said, Tools } from "./legend.tsx";
import { closest, columns, inWords, positive, smoothed, type Columns, type Drawn } from "./lines.ts";
import { HEIGHT, options } from "./plot.ts";
import { soon } from "./frames.ts";
import type { Scale } from "./scale.ts";
import type { Zones } from "../types.ts";

export interface Mark {
  x: number;
  label: string;
  isBad: boolean;
}

export interface Range {
  from: number;
  to: number;
}

export interface ChartProps {
  title: string;
  /** Where the numbers come from: shown, because a number is worth what its source is. */
  method?: string;
  lines: readonly Drawn[];
  show: (value: number) => string;
  showX: (value: number) => string;
  /** What the horizontal axis counts: moments, seconds since the start, or steps. */
  axis: "wall" | "relative" | "step";
  axisName: string;
  marks?: readonly Mark[];
  limit?: { value: number; label: string; zones?: Zones | undefined };
  /** Shared by all charts of a page. */
  range: Signal<Range | null>;
  /** How the range and the crosshair lie along the axis, where they count something else. */
  scale?: Scale;
  /** A moment that is looked at. */
  at?: ReadonlySignal<number | null>;
  smoothing?: number;
  isLog?: boolean;
  isBytes?: boolean;
  least?: number;
  height?: number;
  badge?: ComponentChildren;
  /** A moment was clicked. */
  onPick?: (moment: number) => void;
  /** It came into view, or left it. */
  onSeen?: (isSeen: boolean) => void;
}

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const row = useSignal<number | null>(null);
  const drawn = useMemo(
    () => smoothed(props.isLog ? positive(props.lines) : props.lines, props.smoothing ?? 0),
    [props.lines, props.smoothing, props.isLog],
  );
  const joined = useMemo(() => columns(drawn), [drawn]);
  const isNear = useNear(box);
  useEffect(() => latest.current.onSeen?.(isNear), [isNear]);
  const plot = usePlot(box, latest, drawn, joined, isNear, row);
  const isByKeys = useRef(false);
  const id = useId();
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{props.title}</span>
        {props.method && (
          <span class="method" title={props.method}>
            {props.method}
          </span>
        )}
        {props.badge}
        <Tools given={props} plot={plot} />
      </figcaption>
      <Legend given={props} drawn={drawn} joined={joined} row={row} />
      <div
        ref={box}
        class="plot"
        style={{ minHeight: `${props.height ?? HEIGHT}px` }}
        role="application"
        aria-roledescription="chart"
        aria-label={`${props.title}: ${props.lines.map((line) => line.label).join(", ")}`}
        aria-describedby={`${id}-words`}
        aria-keyshortcuts={KEYS}
        tabIndex={0}
        onKeyDown={(event) => {
          if (!plot.current || !key(plot.current, latest, event)) return;
          event.preventDefault();
          event.stopPropagation();
          isByKeys.current = true;
        }}
        onBlur={() => {
          isByKeys.current = false;
          crosshairOf(props.range).value = null;
        }}
      />
      <Crossed given={props} joined={joined} row={row} />
      <Words id={`${id}-words`} given={props} drawn={drawn} />
      <Spoken row={row} say={(at) => (isByKeys.current ? said(props, drawn, joined, at) : "")} />
    </figure>
  );
}

/** What keys went to, said aloud; a hand that moves would never let it finish. */
function Spoken({ row, say }: { row: ReadonlySignal<number | null>; say: (at: number) => string }) {
  return (
    <span class="unseen" role="status">
      {row.value === null ? "" : say(row.value)}
    </span>
  );
}

function Words({ id, given, drawn }: { id: string; given: ChartProps; drawn: readonly Drawn[] }) {
  const text = useMemo(() => inWords(drawn, given.show, given.showX), [drawn]);
  const { limit, marks = [] } = given;
  return (
    <p id={id} class="unseen">
      {text} {limit && `${limit.label}.`} {marks.length > 0 && `Marked: ${marks.slice(0, 20).map((mark) => `${mark.label} at ${given.showX(mark.x)}`).join("; ")}.`}
    </p>
  );
}

/** Tell whether an element is in view, or nearly: charts out of sight are not drawn. */
function useNear(box: { current: HTMLElement | null }): boolean {
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    if (!box.current) return;
    const observer = new IntersectionObserver((seen) => setNear(seen.at(-1)?.isIntersecting ?? false), { rootMargin: "200px" });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return isNear || isPrinted.value;
}

/** On paper everything is in sight. */
const isPrinted = signal(false);
addEventListener("beforeprint", () => (isPrinted.value = true));
addEventListener("afterprint", () => (isPrinted.value = false));

type Latest = { current: ChartProps };

/** Keep a plot while its place is in view: its points, its range, its crosshair, its size. */
function usePlot(
  box: { current: HTMLDivElement | null },
  latest: Latest,
  drawn: readonly Drawn[],
  joined: Columns,
  isNear: boolean,
  row: Signal<number | null>,
): { current: uPlot | undefined } {
  const plot = useRef<uPlot | undefined>(undefined);
  const { isLog, axis, range, at } = latest.current;
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !isNear) return;
    const made = new uPlot(optionsOf(latest, drawn, joined, element), joined.data, element);
    listen(made, latest);
    plot.current = made;
    ranged(made, latest);
    return () => {
      made.destroy();
      plot.current = undefined;
    };
    // a chart is made again when what it is made of changes, not when its points do
  }, [isNear, isDark.value, isLog, axis, drawn.map((line) => `${line.label} ${line.low ? 1 : 0}`).join("\n")]);
  useLayoutEffect(() => {
    const made = plot.current;
    if (!made || made.data === joined.data) return;
    made.setData(joined.data, range.peek() === null);
    if (range.peek()) made.redraw(true, false);
  }, [joined.data]);
  useRedrawn(plot, latest.current);
  useSized(box, plot, latest);
  useFrame(plot, () => range.value, (made) => ranged(made, latest));
  useFrame(plot, () => at?.value, (made) => made.redraw(false, false));
  useFrame(plot, () => crosshairOf(range).value, (made) => crossed(made, latest, row));
  return plot;
}

/** What lies over and under the lines may come after them: a report, a limit. */
function useRedrawn(plot: { current: uPlot | undefined }, { marks, limit }: ChartProps): void {
  useLayoutEffect(() => plot.current?.redraw(false, false), [marks]);
  // how high the chart is depends on the limit
  useLayoutEffect(() => plot.current?.redraw(true, false), [limit?.value, limit?.zones?.warning, limit?.zones?.critical]);
}

function optionsOf(latest: Latest, drawn: readonly Drawn[], joined: Columns, element: HTMLElement): uPlot.Options {
  const made = options(latest, drawn, joined.places, element.clientWidth);
  const told = (plot: uPlot): void => {
    const last = plot.data[0].at(-1);
    if (last !== undefined) element.dataset["until"] = String(latest.current.scale?.fromX(last) ?? last);
  };
  made.hooks = { ...made.hooks, setSelect: [(plot) => selected(plot, latest)], draw: [...(made.hooks?.draw ?? []), told] };
  return made;
}

/** React to a signal in the next frames, however often it changes: hands are faster than screens. */
function useFrame(plot: { current: uPlot | undefined }, watched: () => unknown, act: (made: uPlot) => void): void {
  const job = useRef({ run: () => {} });
  useSignalEffect(() => {
    watched();
    job.current.run = () => plot.current && act(plot.current);
    soon(job.current, plot.current?.over.matches(":hover") ?? false);
  });
}

function useSized(box: { current: HTMLDivElement | null }, plot: { current: uPlot | undefined }, latest: Latest): void {
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => {
      if (plot.current?.width !== element.clientWidth)
        plot.current?.setSize({ width: element.clientWidth, height: latest.current.height ?? HEIGHT });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
}

function ranged(plot: uPlot, latest: Latest): void {
  const { range, scale } = latest.current;
  const wanted = range.peek();
  const ends = wanted && (scale ? { min: scale.toX(wanted.from), max: scale.toX(wanted.to) } : { min: wanted.from, max: wanted.to });
  const xs = plot.data[0];
  const whole = { min: xs[0] ?? 0, max: xs.at(-1) ?? 1 };
  const { min, max } = ends ?? whole;
  if (plot.scales["x"]?.min === min && plot.scales["x"]?.max === max) return;
  if (ends) plot.setScale("x", ends);
  else plot.setData(plot.data, true);
}

/** Put the crosshair where another chart has it. */
function crossed(plot: uPlot, latest: Latest, row: Signal<number | null>): void {
  const { range, scale } = latest.current;
  const moment = crosshairOf(range).peek();
  const x = moment === null ? null : (scale?.toX(moment) ?? moment);
  const { min = null, max = null } = plot.scales["x"] ?? {};
  const slack = ((max ?? 0) - (min ?? 0)) / 1e4;
  const isOut = x === null || min === null || max === null || x < min - slack || x > max + slack;
  row.value = isOut ? null : (closest(plot.data[0], x) ?? null);
  if (plot.over.matches(":hover")) return;
  plot.setCursor({ left: isOut ? -10 : plot.valToPos(x, "x"), top: -10 }, false);
}
