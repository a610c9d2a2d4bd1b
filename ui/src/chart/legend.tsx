// Above a chart: what its lines are and come to under the crosshair; and what can be done with it.
import type { Signal } from "@preact/signals";
import type uPlot from "uplot";
import { save } from "../files.ts";
import { colour, css } from "../theme.ts";
import type { ChartProps, Mark } from "./chart.tsx";
import { csv, type Columns, type Drawn } from "./lines.ts";

interface LegendProps {
  given: ChartProps;
  drawn: readonly Drawn[];
  joined: Columns;
  row: Signal<number | null>;
}

export function Legend({ given, drawn, joined, row }: LegendProps) {
  const { data, places } = joined;
  const at = row.value;
  return (
    <ul class="legend">
      {drawn.map((line, place) => {
        if (line.isFaint) return null;
        const column = data[places[place]?.value ?? 0];
        const value = at === null ? lastOf(column) : around(column, at);
        return (
          <li key={line.label}>
            <i style={{ background: colour(line.hue) }} />
            {line.label} <b>{typeof value === "number" ? given.show(value) : "–"}</b>
          </li>
        );
      })}
    </ul>
  );
}

/** Where the crosshair stands and what happened there, in a line that is always kept free: nothing jumps under a hand. */
export function Crossed({ given, joined, row }: Omit<LegendProps, "drawn">) {
  const xs = joined.data[0];
  const x = row.value === null ? undefined : xs[row.value];
  const near = x === undefined ? undefined : nearest(given.marks ?? [], x, xs);
  return (
    <p class="crossed" aria-hidden="true">
      {x !== undefined && <span class="legend-x">{given.showX(x)}</span>} {near && <span class={near.isBad ? "bad" : ""}>{near.label}</span>}
    </p>
  );
}

/** What stands under the crosshair, in words. */
export function said(given: ChartProps, drawn: readonly Drawn[], { data, places }: Columns, at: number): string {
  const values = drawn.flatMap((line, place) => {
    const value = line.isFaint ? undefined : around(data[places[place]?.value ?? 0], at);
    return typeof value === "number" ? [`${line.label} ${given.show(value)}`] : [];
  });
  return [given.showX(data[0][at] ?? 0), ...values].join(", ");
}

type Column = ArrayLike<number | null | undefined> | undefined;

function lastOf(column: Column): number | null | undefined {
  let at = (column?.length ?? 0) - 1;
  while (at >= 0 && typeof column?.[at] !== "number") at -= 1;
  return column?.[at];
}

/** The value at a place, or the last before it: lines of other sources have their points elsewhere. */
function around(column: Column, place: number): number | null | undefined {
  let at = place;
  while (at > Math.max(0, place - 8) && typeof column?.[at] !== "number") at -= 1;
  return column?.[at];
}

function nearest(marks: readonly Mark[], x: number, xs: ArrayLike<number>): Mark | undefined {
  const reach = ((xs[xs.length - 1] ?? 0) - (xs[0] ?? 0)) / 100;
  return marks.find((mark) => Math.abs(mark.x - x) <= reach);
}

export function Tools({ given, plot }: { given: ChartProps; plot: { current: uPlot | undefined } }) {
  const { title, axisName, lines, range } = given;
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
        aria-label={`PNG of ${title}`}
        onClick={() => plot.current && picture(given, plot.current).toBlob((blob) => blob && save(`${name}.png`, blob))}
      >
        PNG
      </button>
      <button
        type="button"
        class="quiet"
        title="save the numbers"
        aria-label={`CSV of ${title}`}
        onClick={() => save(`${name}.csv`, new Blob([csv(axisName, lines)], { type: "text/csv" }))}
      >
        CSV
      </button>
    </span>
  );
}

const HEAD_PIXELS = 44;

/** The chart with its title, method and lines named: a picture is looked at without the page. */
function picture(given: ChartProps, plot: uPlot): HTMLCanvasElement {
  const drawn = plot.ctx.canvas;
  const scale = devicePixelRatio;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [drawn.width, drawn.height + HEAD_PIXELS * scale];
  const context = canvas.getContext("2d");
  if (!context) return canvas;
  context.fillStyle = css("--raised");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(drawn, 0, HEAD_PIXELS * scale);
  context.scale(scale, scale);
  let x = 10;
  const write = (text: string, font: string, fill: string, y: number): void => {
    context.font = font;
    context.fillStyle = fill;
    context.fillText(text, x, y);
    x += context.measureText(text).width + 10;
  };
  write(given.title, "600 14px system-ui", css("--ink"), 18);
  if (given.method) write(given.method, "12px system-ui", css("--muted"), 18);
  x = 10;
  for (const line of given.lines) {
    context.fillStyle = colour(line.hue);
    context.fillRect(x, 32, 12, 3);
    x += 17;
    write(line.label, "12px system-ui", css("--muted"), 38);
  }
  return canvas;
}
