// What a chart draws, independent of how: lines over one axis, joined to the columns that uPlot wants.
import uPlot from "uplot";

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
  const tables: uPlot.AlignedData[] = [];
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
    tables.push([line.x, ...parts] as unknown as uPlot.AlignedData);
  }
  const first = tables[0];
  if (first === undefined) return { data: [[]], places };
  return { data: tables.length === 1 ? first : uPlot.join(tables), places };
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

/** The values of all lines at the places where any has one, as CSV. */
export function csv(axis: string, lines: readonly Drawn[]): string {
  const { data, places } = columns(lines);
  const quoted = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const names = lines.flatMap((line, place) =>
    places[place]?.low === undefined ? [line.label] : [line.label, `${line.label} min`, `${line.label} max`],
  );
  const rows = [[axis, ...names].map(quoted).join(",")];
  const xs = data[0];
  for (let row = 0; row < xs.length; row += 1) {
    rows.push([xs[row], ...data.slice(1).map((column) => column?.[row] ?? "")].join(","));
  }
  return rows.join("\n") + "\n";
}
