// How uPlot draws a chart: its series, axes, and what lies over and under the lines.
import uPlot from "uplot";
import { colour, css } from "../theme.ts";
import { ZONES } from "../zones.ts";
import type { ChartProps } from "./chart.tsx";
import type { Columns, Drawn } from "./lines.ts";

export const HEIGHT = 180;

/** Steps of 1, 2, 5, 10, 15, 30 seconds, minutes and hours, then days: where people expect a tick. */
const CLOCK = [0.001, 0.01, 0.1, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
const POWERS = Array.from({ length: 50 }, (_, power) => 2 ** power);
const WALL = [
  [86400, "{YYYY}-{MM}-{DD}", null, null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
  [0.001, ":{ss}.{fff}", "\n{YYYY}-{MM}-{DD} {HH}:{mm}", null, null, null, null, null, 1],
];

export interface Latest {
  current: ChartProps;
}

export function options(latest: Latest, drawn: readonly Drawn[], places: Columns["places"], width: number): uPlot.Options {
  const given = latest.current;
  const [ink, grid] = [css("--muted"), css("--grid")];
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "11px system-ui" };
  return {
    width,
    height: given.height ?? HEIGHT,
    series: seriesOf(drawn, places),
    legend: { show: false },
    padding: [8, rightPadding, 0, 0],
    scales: {
      x: { time: given.axis === "wall" },
      y: { distr: given.isLog ? 3 : 1, range: (_plot, low, high) => yRange(latest.current, low, high) },
    },
    axes: [
      { ...axis, ...xAxis(given) },
      {
        ...axis,
        size: yAxisSize,
        ...(given.isBytes && !given.isLog ? { incrs: POWERS } : {}),
        values: (_plot, ticks) => ticks.map((tick) => (tick === null ? "" : latest.current.show(tick))),
      },
    ],
    cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
    hooks: {
      drawClear: [(plot) => zones(plot, latest.current)],
      drawAxes: [(plot) => bands(plot, drawn, places)],
      draw: [(plot) => overlay(plot, latest.current)],
    },
  };
}

const LEAST_AXIS_PIXELS = 70;
const LEAST_PADDING_PIXELS = 8;

/** What uPlot keeps of an axis beside what it was given. */
type Laid = uPlot.Axis & { font?: [string, number]; _values?: (string | null)[] | null; _size?: number };

/** The widest label of an axis in pixels of the page. */
function labelPixels(plot: uPlot, axis: Laid, values: readonly (string | null)[] | null | undefined): number {
  const { ctx: context } = plot;
  context.save();
  if (axis.font) context.font = axis.font[0];
  const widths = (values ?? []).flatMap((label) => String(label ?? "").split("\n")).map((line) => context.measureText(line).width);
  context.restore();
  return Math.max(0, ...widths) / devicePixelRatio;
}

/** As wide as its labels are, and in most charts the same: they stand under one another. */
function yAxisSize(plot: uPlot, values: (string | null)[] | null, place: number, cycle: number): number {
  const axis = plot.axes[place] as Laid;
  if (cycle > 1) return axis._size ?? LEAST_AXIS_PIXELS;
  return Math.max(LEAST_AXIS_PIXELS, Math.ceil(labelPixels(plot, axis, values) + (axis.ticks?.size ?? 0) + (axis.gap ?? 0) + 2));
}

/** Room for half of the last label, which may stand under the right edge. */
function rightPadding(plot: uPlot): number {
  const axis = plot.axes[0] as Laid;
  return Math.max(LEAST_PADDING_PIXELS, Math.ceil(labelPixels(plot, axis, axis._values) / 2) + 1);
}

function seriesOf(drawn: readonly Drawn[], places: Columns["places"]): uPlot.Series[] {
  const series: uPlot.Series[] = [{}];
  drawn.forEach((line, place) => {
    const stroke = colour(line.hue);
    const base: uPlot.Series = { label: line.label, stroke: line.isFaint ? `${stroke}55` : stroke, width: 1.5 };
    if (line.isDashed) base.dash = [5, 4];
    base.points = { show: false, filter: (plot, at) => lone(plot.data[at] as Values) };
    series.push(base);
    if (places[place]?.low === undefined) return;
    // they count for the height of the chart; what is between them is drawn at once, which costs a fraction of uPlot's own
    const edge: uPlot.Series = { paths: () => null, points: { show: false } };
    series.push({ ...edge }, { ...edge });
  });
  return series;
}

/** Values with nothing at both sides: no line goes through them. What another line alone has a place for is no gap. */
function lone(values: Values): number[] | null {
  const found: number[] = [];
  let [before, place]: [number | null, number | undefined] = [null, undefined];
  for (let row = 0; row <= values.length; row += 1) {
    const value = row < values.length ? values[row] : null;
    if (value === undefined) continue;
    if (value === null && before !== null && place !== undefined) found.push(place);
    place = value !== null && before === null ? row : undefined;
    before = value;
  }
  return found.length > 0 ? found : null;
}

/** Fill what lies between the least and the largest of each point. */
function bands(plot: uPlot, drawn: readonly Drawn[], places: Columns["places"]): void {
  const { ctx: context, bbox } = plot;
  const xs = plot.data[0];
  const [first, last] = plot.series[0]?.idxs ?? [0, xs.length - 1];
  const [from, to] = [Math.max(0, first - 1), Math.min(xs.length - 1, last + 1)];
  context.save();
  context.beginPath();
  context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  context.clip();
  drawn.forEach((line, place) => {
    const at = places[place];
    const [low, high] = [at?.low && plot.data[at.low], at?.high && plot.data[at.high]];
    if (!low || !high) return;
    context.fillStyle = `${colour(line.hue)}${line.isFaint ? "18" : "2e"}`;
    for (let begin = from; begin <= to; ) {
      let end = begin;
      while (end < to && low[end + 1] !== null) end += 1;
      context.beginPath();
      outline(plot, context, xs, low, high, begin, end);
      context.fill();
      begin = end + 1;
    }
  });
  context.restore();
}

type Values = ArrayLike<number | null | undefined>;

function outline(plot: uPlot, context: CanvasRenderingContext2D, xs: ArrayLike<number>, low: Values, high: Values, from: number, to: number): void {
  const x = (row: number): number => Math.round(plot.valToPos(xs[row] as number, "x", true));
  const y = (value: number): number => Math.round(plot.valToPos(value, "y", true));
  for (let row = from; row <= to; row += 1) {
    const value = high[row];
    if (typeof value === "number") context.lineTo(x(row), y(value));
  }
  for (let row = to; row >= from; row -= 1) {
    const value = low[row];
    if (typeof value === "number") context.lineTo(x(row), y(value));
  }
}

function xAxis(given: ChartProps): Partial<uPlot.Axis> {
  switch (given.axis) {
    case "relative":
      return { size: 30, incrs: CLOCK, values: (_plot, ticks) => ticks.map(clock) };
    case "step":
      return { size: 30, values: (_plot, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? tick.toLocaleString("en") : "")) };
    case "wall":
      return { values: WALL as unknown as uPlot.Axis.Values };
  }
}

/** Seconds since the start, as short as they are told apart. */
function clock(seconds: number): string {
  if (seconds < 0) return `-${clock(-seconds)}`;
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  if (seconds < 60) return `${Number(rest.toFixed(3))} s`;
  const pad = (number: number): string => String(Math.floor(number)).padStart(2, "0");
  return hours ? `${hours}:${pad(minutes)}${rest ? `:${pad(rest)}` : ""} h` : `${minutes}:${pad(rest)}`;
}

function yRange(given: ChartProps, low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return given.isLog ? [0.1, 1] : [0, 1];
  if (given.isLog) return [low > 0 ? low / 1.5 : 1e-6, high * 1.5];
  const bottom = Math.min(low, given.least ?? low);
  const limit = given.limit?.value;
  // the limit is shown where the job came near it; far away it would flatten the line
  const top = limit !== undefined && high > limit / 3 ? Math.max(high, limit) : high;
  const room = (top - bottom || Math.abs(top) || 1) * 0.06;
  return [bottom === given.least ? bottom : bottom - room, top + room];
}

function zones(plot: uPlot, given: ChartProps): void {
  if (!given.limit) return;
  const { left, top, width, height } = plot.bbox;
  const y = (value: number): number => Math.min(top + height, Math.max(top, plot.valToPos(value, "y", true)));
  const context = plot.ctx;
  const { warning, critical } = given.limit.zones ?? ZONES;
  for (const [from, to, fill] of [
    [warning, critical, css("--zone-warning")],
    [critical, 1, css("--zone-critical")],
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
    context.fillText(given.limit.label, left + width - 4 * scale, y + (y < top + 16 * scale ? 12 : -4) * scale);
  }
  marks(plot, given);
  const at = given.at?.peek();
  if (at !== null && at !== undefined) {
    const x = plot.valToPos(given.scale?.toX(at) ?? at, "x", true);
    context.setLineDash([]);
    context.strokeStyle = css("--accent");
    context.lineWidth = 2 * scale;
    stroke(context, x, top, x, top + height);
  }
  context.restore();
}

function marks(plot: uPlot, given: ChartProps): void {
  const { top, height } = plot.bbox;
  const context = plot.ctx;
  const scale = devicePixelRatio;
  context.setLineDash([2 * scale, 3 * scale]);
  for (const mark of given.marks ?? []) {
    const x = plot.valToPos(mark.x, "x", true);
    context.strokeStyle = context.fillStyle = css(mark.isBad ? "--critical" : "--muted");
    stroke(context, x, top, x, top + height);
    context.beginPath();
    context.moveTo(x - 4 * scale, top);
    context.lineTo(x + 4 * scale, top);
    context.lineTo(x, top + 6 * scale);
    context.fill();
  }
}

function stroke(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}
