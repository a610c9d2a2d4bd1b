// What a chart draws, independent of how: lines over one axis, joined to the columns that uPlot wants.
import uPlot from "uplot";
import { cell } from "../files.ts";

export interface Drawn {
  label: string;
  /** Its place in the palette. */
  hue: number;
  x: number[];
  y: (number | null)[];
  /** The least and the largest of what a point stands for, where it stands for more than one sample. */
  low?: (number | null)[];
  high?: (number | null)[];
  isFaint?: boolean;
  isDashed?: boolean;
}

export interface Columns {
  data: uPlot.AlignedData;
  /** By line: places of its value, low and high among the columns. */
  places: { value: number; low?: number; high?: number }[];
}

export function columns(lines: readonly Drawn[]): Columns {
  const places: Columns["places"] = [];
  const tables: (number | null)[][][] = [];
  let next = 1;
  for (const line of lines) {
    const place: Columns["places"][number] = { value: next };
    const parts: (number | null)[][] = [line.y];
    next += 1;
    if (line.low && line.high) {
      parts.push(line.low, line.high);
      place.low = next;
      place.high = next + 1;
      next += 2;
    }
    places.push(place);
    tables.push([line.x, ...parts]);
  }
  const first = lines[0];
  if (first === undefined) return { data: [[]], places };
  // what one source measured has the same moments: joining them would only cost time
  const isShared = lines.every((line) => isSame(line.x, first.x));
  const data = isShared ? [first.x, ...tables.flatMap((table) => table.slice(1))] : uPlot.join(tables as uPlot.AlignedData[]);
  return { data: data as uPlot.AlignedData, places };
}

function isSame(one: readonly number[], other: readonly number[]): boolean {
  return one === other || (one.length === other.length && one.every((x, place) => x === other[place]));
}

/** Lay the same points elsewhere along the axis; those that have no place there go. */
export function moved(line: Drawn, to: (x: number) => number | null): Drawn {
  const found = line.x.map(to);
  const kept = (values: (number | null)[]): (number | null)[] => values.filter((_, place) => found[place] !== null);
  const next: Drawn = { ...line, x: found.filter((x) => x !== null), y: kept(line.y) };
  if (line.low && line.high) [next.low, next.high] = [kept(line.low), kept(line.high)];
  return next;
}

/** A line as fine as it is known: where only a part was asked for, the coarse one goes on at both sides. */
export function spliced(coarse: Drawn, fine: Drawn | undefined): Drawn {
  const [first, last] = [fine?.x[0], fine?.x.at(-1)];
  if (!fine || first === undefined || last === undefined) return coarse;
  const [before, after] = [below(coarse.x, first), below(coarse.x, last, true)];
  const joined = <T>(one: readonly T[], other: readonly T[]): T[] => [...one.slice(0, before), ...other, ...one.slice(after)];
  const next: Drawn = { ...coarse, x: joined(coarse.x, fine.x), y: joined(coarse.y, fine.y) };
  if (coarse.low || fine.low) {
    next.low = joined(coarse.low ?? coarse.y, fine.low ?? fine.y);
    next.high = joined(coarse.high ?? coarse.y, fine.high ?? fine.y);
  }
  return next;
}

/** Count the places before a value, or up to and with it. */
export function below(sorted: ArrayLike<number>, value: number, isWith = false): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const here = sorted[middle] as number;
    if (here < value || (isWith && here === value)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The place of the value that is nearest. */
export function closest(sorted: ArrayLike<number>, value: number): number | undefined {
  if (sorted.length === 0) return undefined;
  const right = Math.min(sorted.length - 1, below(sorted, value));
  const left = Math.max(0, right - 1);
  return value - (sorted[left] as number) < (sorted[right] as number) - value ? left : right;
}

/** Exponential smoothing that does not lag at the beginning; gaps stay gaps. */
export function smooth(values: readonly (number | null)[], weight: number): (number | null)[] {
  if (weight <= 0) return [...values];
  let held = 0;
  let seen = 0;
  return values.map((value) => {
    if (value === null) return null;
    held = held * weight + value * (1 - weight);
    seen = seen * weight + (1 - weight);
    return held / seen;
  });
}

/** Smoothed lines with what they were made of behind them. */
export function smoothed(lines: readonly Drawn[], weight: number): readonly Drawn[] {
  if (weight <= 0) return lines;
  return lines.flatMap((line) => [
    { ...line, label: `${line.label} (raw)`, isFaint: true },
    { label: line.label, hue: line.hue, x: line.x, y: smooth(line.y, weight), ...(line.isDashed ? { isDashed: true } : {}) },
  ]);
}

/** What a logarithm can show: nothing at or below zero. */
export function positive(lines: readonly Drawn[]): Drawn[] {
  const kept = (values: (number | null)[]): (number | null)[] => values.map((value) => (value !== null && value > 0 ? value : null));
  return lines.map((line) => {
    const next: Drawn = { ...line, y: kept(line.y) };
    if (line.low && line.high) [next.low, next.high] = [kept(line.low), kept(line.high)];
    return next;
  });
}

/** The values of all lines at the places where any has one, as CSV. */
export function csv(axis: string, lines: readonly Drawn[]): string {
  const { data, places } = columns(lines);
  const names = lines.flatMap((line, place) =>
    places[place]?.low === undefined ? [line.label] : [line.label, `${line.label} min`, `${line.label} max`],
  );
  const rows = [[axis, ...names].map(cell).join(",")];
  const xs = data[0];
  for (let row = 0; row < xs.length; row += 1) {
    rows.push([xs[row], ...data.slice(1).map((column) => column?.[row])].map(cell).join(","));
  }
  return rows.join("\n") + "\n";
}

/** A chart in words, for whoever cannot see it. */
export function inWords(lines: readonly Drawn[], show: (value: number) => string, showX: (x: number) => string): string {
  return lines
    .filter((line) => !line.isFaint)
    .map((line) => {
      const [low, high] = [extreme(line.low ?? line.y, -1), extreme(line.high ?? line.y, 1)];
      const [first, last] = [line.x[0], line.x.at(-1)];
      if (!low || !high || first === undefined || last === undefined) return `${line.label}: no values.`;
      const ends = `from ${showX(first)} to ${showX(last)}`;
      const end = line.y.findLast((value) => value !== null);
      const at = `largest ${show(high.value)} at ${showX(line.x[high.place] as number)}`;
      return `${line.label}, ${ends}: least ${show(low.value)}, ${at}, last ${typeof end === "number" ? show(end) : "unknown"}.`;
    })
    .join(" ");
}

function extreme(values: readonly (number | null)[], sign: 1 | -1): { value: number; place: number } | undefined {
  let found: { value: number; place: number } | undefined;
  values.forEach((value, place) => {
    if (value !== null && (!found || sign * value > sign * found.value)) found = { value, place };
  });
  return found;
}
