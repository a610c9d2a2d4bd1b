// Which columns stand in which order, and how wide: in the address, so that a link shows the same, and in this browser,
// so that the next visit does too.
import { signal } from "@preact/signals";
import { query, setQuery } from "../router.ts";
import { columnNamed, DEFAULT, type Column } from "../parts/run_columns.tsx";

const COLUMNS_KEY = "jobmeter.runs.columns";
const WIDTHS_KEY = "jobmeter.runs.widths";
const LEAST_PIXELS = 56;
const MOST_PIXELS = 900;

const stored = signal(localStorage.getItem(COLUMNS_KEY));
const widths = signal<Readonly<Record<string, number>>>(readWidths());

function readWidths(): Record<string, number> {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(WIDTHS_KEY) ?? "{}");
    const pairs = typeof found === "object" && found !== null ? Object.entries(found) : [];
    return Object.fromEntries(pairs.filter((pair): pair is [string, number] => typeof pair[1] === "number"));
  } catch {
    return {}; // somebody else wrote there
  }
}

export function columns(): Column[] {
  const names = (query.value.get("columns") ?? stored.value)?.split(",") ?? DEFAULT;
  const found = [...new Set(names)].flatMap((name) => columnNamed(name) ?? []);
  return found.length ? found : DEFAULT.flatMap((name) => columnNamed(name) ?? []);
}

export function setColumns(names: readonly string[]): void {
  const text = names.join(",");
  const isDefault = text === DEFAULT.join(",");
  stored.value = isDefault ? null : text;
  if (isDefault) localStorage.removeItem(COLUMNS_KEY);
  else localStorage.setItem(COLUMNS_KEY, text);
  setQuery({ columns: isDefault ? null : text });
}

export function toggleColumn(name: string): void {
  const names = columns().map((one) => one.name);
  setColumns(names.includes(name) ? names.filter((one) => one !== name) : [...names, name]);
}

/** Put a column in the place of another one. */
export function moveColumn(name: string, to: number): void {
  const names = columns().map((one) => one.name);
  const from = names.indexOf(name);
  if (from < 0 || to < 0 || to >= names.length || from === to) return;
  names.splice(from, 1);
  names.splice(to, 0, name);
  setColumns(names);
}

export function widthOf(column: Column): number {
  return widths.value[column.name] ?? column.pixels;
}

export function setWidth(column: Column, pixels: number | null): void {
  const { [column.name]: _, ...rest } = widths.value;
  const kept = pixels === null ? rest : { ...rest, [column.name]: Math.round(Math.min(MOST_PIXELS, Math.max(LEAST_PIXELS, pixels))) };
  widths.value = kept;
  localStorage.setItem(WIDTHS_KEY, JSON.stringify(kept));
}

export function reset(): void {
  widths.value = {};
  localStorage.removeItem(WIDTHS_KEY);
  setColumns(DEFAULT);
}

const PICK_PIXELS = 34;

/** The style of every row: the same tracks, so that numbers stand under one another. */
export function tracks(shown: readonly Column[]): { gridTemplateColumns: string; minWidth: string } {
  const parts = shown.map((one) =>
    one.grows && widths.value[one.name] === undefined ? `minmax(${one.pixels}px, ${one.grows}fr)` : `${widthOf(one)}px`,
  );
  const whole = shown.reduce((sum, one) => sum + widthOf(one), PICK_PIXELS);
  return { gridTemplateColumns: `${PICK_PIXELS}px ${parts.join(" ")}`, minWidth: `${whole}px` };
}
