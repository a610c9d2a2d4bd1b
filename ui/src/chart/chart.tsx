// One chart: lines with their extremes, event marks, a limit, zones; crosshair and range shared with all charts of a page.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Signal } from "@preact/signals";
import { useSignalEffect } from "@preact/signals";
import uPlot from "uplot";
import { colour, css, isDark } from "../theme.ts";
import { columns, csv, smooth, type Drawn } from "./lines.ts";

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
  limit?: { value: number; label: string };
  /** Shared by all charts of a page. */
  range: Signal<Range | null>;
  smoothing?: number;
  isLog?: boolean;
  isBytes?: boolean;
  least?: number;
  height?: number;
  onPick?: (x: number) => void;
}

const WARNING_SHARE = 0.85;
const CRITICAL_SHARE = 0.95;

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const isNear = useNear(box);
  const [row, setRow] = useState<number | null>(null);
  const drawn = props.smoothing ? smoothed(props.lines, props.smoothing) : props.lines;
  const joined = columns(drawn);
  const dark = isDark.value;

  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !isNear) return;
    const made = new uPlot(options(latest, drawn, joined.places, element.clientWidth, setRow), joined.data, element);
    plot.current = made;
    const range = latest.current.range.peek();
    if (range) made.setScale("x", { min: range.from, max: range.to });
    return () => {
      made.destroy();
      plot.current = undefined;
    };
    // a chart is made again when what it is made of changes, not when its points do
  }, [isNear, dark, props.isLog, drawn.map((line) => `${line.label} ${line.low ? 1 : 0}`).join("\n")]);

  useEffect(() => plot.current?.setData(joined.data, props.range.peek() === null), [joined.data]);

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: latest.current.height ?? 180 }),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useSignalEffect(() => {
    const range = props.range.value;
    const made = plot.current;
    if (!made) return;
    if (range) made.setScale("x", { min: range.from, max: range.to });
    else made.setData(made.data, true);
  });

  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{props.title}</span>
        {props.method && <span class="method">{props.method}</span>}
        <Tools {...props} drawn={drawn} plot={plot} />
      </figcaption>
      <Legend drawn={drawn} places={joined.places} data={joined.data} row={row} {...props} />
      <div
        ref={box}
        class="plot"
        style={{ minHeight: `${props.height ?? 180}px` }}
        role="img"
        aria-label={`${props.title}: ${drawn.map((line) => line.label).join(", ")}`}
      />
    </figure>
  );
}

function smoothed(lines: readonly Drawn[], weight: number): Drawn[] {
  return lines.flatMap((line) => [
    { label: line.label, hue: line.hue, x: line.x, y: smooth(line.y, weight) },
    { ...line, label: `${line.label} (raw)`, isFaint: true },
  ]);
}

/** Tell whether an element is in view, or nearly: charts out of sight are not drawn. */
function useNear(box: { current: HTMLElement | null }): boolean {
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    if (!box.current) return;
    const observer = new IntersectionObserver((seen) => setNear(seen.some((one) => one.isIntersecting)), {
      rootMargin: "400px",
    });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return isNear;
}

function options(
  latest: { current: ChartProps },
  drawn: readonly Drawn[],
  places: ReturnType<typeof columns>["places"],
  width: number,
  setRow: (row: number | null) => void,
): uPlot.Options {
  const given = latest.current;
  const [ink, grid] = [css("--muted"), css("--grid")];
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "11px system-ui" };
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  drawn.forEach((line, place) => {
    const stroke = colour(line.hue);
    const base: uPlot.Series = { label: line.label, stroke: line.isFaint ? `${stroke}55` : stroke, width: 1.5, spanGaps: true };
    if (line.isDashed) base.dash = [5, 4];
    base.points = { show: line.y.length < 2 };
    series.push(base);
    const at = places[place];
    if (at?.low !== undefined && at.high !== undefined) {
      const edge: uPlot.Series = { stroke: "transparent", width: 0, points: { show: false }, spanGaps: true };
      series.push({ ...edge }, { ...edge });
      bands.push({ series: [at.high, at.low], fill: `${stroke}2e` });
    }
  });
  return {
    width,
    height: given.height ?? 180,
    series,
    bands,
    legend: { show: false },
    padding: [8, 8, 0, 0],
    scales: {
      x: { time: given.axis === "wall" },
      y: {
        distr: given.isLog ? 3 : 1,
        range: (_plot, low, high) => yRange(latest.current, low, high),
      },
    },
    axes: [
      { ...axis, ...xAxis(given) },
      {
        ...axis,
        size: 64,
        ...(given.isBytes ? { incrs: POWERS } : {}),
        values: (_plot, ticks) => ticks.map((tick) => (tick === null ? "" : latest.current.show(tick))),
      },
    ],
    cursor: {
      sync: { key: `jobmeter-${given.axis}` },
      drag: { x: true, y: false, setScale: false },
      points: { size: 6 },
    },
    hooks: {
      setCursor: [(plot) => setRow(plot.cursor.idx ?? null)],
      setSelect: [(plot) => selected(plot, latest.current)],
      drawClear: [(plot) => zones(plot, latest.current)],
      draw: [(plot) => overlay(plot, latest.current)],
      ready: [(plot) => listen(plot, latest)],
    },
  };
}

/** Steps of 1, 2, 5, 10, 15, 30 seconds, minutes and hours, then days: where people expect a tick. */
const CLOCK = [0.001, 0.01, 0.1, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
const POWERS = Array.from({ length: 50 }, (_, power) => 2 ** power);

function xAxis(given: ChartProps): Partial<uPlot.Axis> {
  switch (given.axis) {
    case "relative":
      return { incrs: CLOCK, values: (_plot, ticks) => ticks.map(clock) };
    case "step":
      return { values: (_plot, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? tick.toLocaleString("en") : "")) };
    case "wall":
      return { values: WALL as unknown as uPlot.Axis.Values };
  }
}

const WALL = [
  [86400, "{YYYY}-{MM}-{DD}", null, null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
  [0.001, ":{ss}.{fff}", "\n{YYYY}-{MM}-{DD} {HH}:{mm}", null, null, null, null, null, 1],
];

/** Seconds since the start, as short as they are told apart. */
function clock(seconds: number): string {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  if (seconds < 60) return `${Number(rest.toFixed(3))} s`;
  const pad = (number: number): string => String(Math.floor(number)).padStart(2, "0");
  return hours ? `${hours}:${pad(minutes)}${rest ? `:${pad(rest)}` : ""} h` : `${minutes}:${pad(rest)}`;
}

function yRange(given: ChartProps, low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [0, 1];
  if (given.isLog) return [low > 0 ? low / 1.5 : 1e-6, high * 1.5];
  const bottom = Math.min(low, given.least ?? low);
  const limit = given.limit?.value;
  // the limit is shown where the job came near it; far away it would flatten the line
  const top = limit !== undefined && high > limit / 3 ? Math.max(high, limit) : high;
  const room = (top - bottom || Math.abs(top) || 1) * 0.06;
  return [bottom === given.least ? bottom : bottom - room, top + room];
}

function selected(plot: uPlot, given: ChartProps): void {
  const { left, width } = plot.select;
  if (width < 4) return;
  given.range.value = { from: plot.posToVal(left, "x"), to: plot.posToVal(left + width, "x") };
  plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
}

function listen(plot: uPlot, latest: { current: ChartProps }): void {
  plot.over.addEventListener("dblclick", () => (latest.current.range.value = null));
  plot.over.addEventListener("click", (event) => {
    if (event.altKey && plot.cursor.left !== undefined) latest.current.onPick?.(plot.posToVal(plot.cursor.left, "x"));
  });
  plot.over.addEventListener(
    "wheel",
    (event) => {
      const { min, max } = plot.scales["x"] ?? {};
      if (min === undefined || max === undefined || min === null || max === null) return;
      const isPan = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      if (!isPan && !event.ctrlKey && !event.metaKey) return; // the page scrolls
      event.preventDefault();
      if (isPan) {
        const move = ((max - min) * (event.deltaX || event.deltaY)) / 1200;
        latest.current.range.value = { from: min + move, to: max + move };
        return;
      }
      const at = plot.posToVal(event.offsetX, "x");
      const factor = event.deltaY > 0 ? 1.25 : 0.8;
      latest.current.range.value = { from: at - (at - min) * factor, to: at + (max - at) * factor };
    },
    { passive: false },
  );
}

function zones(plot: uPlot, given: ChartProps): void {
  if (!given.limit) return;
  const { left, top, width, height } = plot.bbox;
  const y = (value: number): number => Math.min(top + height, Math.max(top, plot.valToPos(value, "y", true)));
  const context = plot.ctx;
  for (const [from, to, fill] of [
    [WARNING_SHARE, CRITICAL_SHARE, css("--zone-warning")],
    [CRITICAL_SHARE, 1, css("--zone-critical")],
  ] as const) {
    const [low, high] = [y(given.limit.value * from), y(given.limit.value * to)];
    context.fillStyle = fill;
    context.fillRect(left, high, width, low - high);
  }
}

function overlay(plot: uPlot, given: ChartProps): void {
  const { left, top, width, height } = plot.bbox;
  const context = plot.ctx;
  const scale = devicePixelRatio;
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.lineWidth = scale;
  if (given.limit) {
    const y = plot.valToPos(given.limit.value, "y", true);
    context.strokeStyle = context.fillStyle = css("--critical");
    context.setLineDash([6 * scale, 4 * scale]);
    stroke(context, left, y, left + width, y);
    context.font = `${11 * scale}px system-ui`;
    context.textAlign = "right";
    context.fillText(given.limit.label, left + width - 4 * scale, y - 4 * scale);
  }
  context.setLineDash([2 * scale, 3 * scale]);
  for (const mark of given.marks ?? []) {
    const x = plot.valToPos(mark.x, "x", true);
    context.strokeStyle = css(mark.isBad ? "--critical" : "--muted");
    stroke(context, x, top, x, top + height);
  }
  context.restore();
}

function stroke(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

interface LegendProps extends ChartProps {
  drawn: readonly Drawn[];
  places: ReturnType<typeof columns>["places"];
  data: uPlot.AlignedData;
  row: number | null;
}

function Legend({ drawn, places, data, row, show, showX, marks }: LegendProps) {
  const xs = data[0];
  const at = row ?? xs.length - 1;
  const x = xs[at];
  const near = row === null || x === undefined ? undefined : nearest(marks ?? [], x, xs);
  return (
    <ul class="legend">
      {row !== null && x !== undefined && <li class="legend-x">{showX(x)}</li>}
      {drawn.map((line, place) => {
        if (line.isFaint) return null;
        const column = data[places[place]?.value ?? 0];
        const value = row === null ? lastOf(column) : column?.[at];
        return (
          <li key={line.label}>
            <i style={{ background: colour(line.hue) }} />
            {line.label} <b>{typeof value === "number" ? show(value) : "–"}</b>
          </li>
        );
      })}
      {near && <li class={near.isBad ? "legend-mark bad" : "legend-mark"}>{near.label}</li>}
    </ul>
  );
}

function lastOf(column: ArrayLike<number | null | undefined> | undefined): number | null | undefined {
  let at = (column?.length ?? 0) - 1;
  while (at >= 0 && typeof column?.[at] !== "number") at -= 1;
  return column?.[at];
}

function nearest(marks: readonly Mark[], x: number, xs: ArrayLike<number>): Mark | undefined {
  const reach = ((xs[xs.length - 1] ?? 0) - (xs[0] ?? 0)) / 100;
  return marks.find((mark) => Math.abs(mark.x - x) <= reach);
}

function Tools({ title, axisName, drawn, plot, range }: ChartProps & { drawn: readonly Drawn[]; plot: { current: uPlot | undefined } }) {
  const name = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return (
    <span class="tools">
      {range.value && (
        <button type="button" class="quiet" onClick={() => (range.value = null)}>
          whole run
        </button>
      )}
      <button
        type="button"
        class="quiet"
        title="save as picture"
        onClick={() => plot.current?.ctx.canvas.toBlob((blob) => blob && save(`${name}.png`, blob))}
      >
        PNG
      </button>
      <button
        type="button"
        class="quiet"
        title="save the numbers"
        onClick={() => save(`${name}.csv`, new Blob([csv(axisName, drawn)], { type: "text/csv" }))}
      >
        CSV
      </button>
    </span>
  );
}

export function save(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
