// A line as small as a word: how a run went, without axes. Holes stay holes.
import type { SmallLine } from "../types.ts";
import * as format from "../format.ts";

const WIDTH = 88;
const HEIGHT = 22;

export function Spark({ line }: { line: SmallLine | undefined }) {
  if (!line) return null;
  const known = line.values.filter((value): value is number => value !== null);
  if (known.length < 2) return null;
  const isSize = line.unit !== "";
  const low = isSize ? 0 : Math.min(...known);
  const high = Math.max(...known);
  const show = (value: number): string => (line.unit === "bytes" ? format.bytes(value) : format.digits(value));
  const label = `${line.key}: ${show(Math.min(...known))} to ${show(high)}${line.unit === "cores" ? " cores" : ""}`;
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img" aria-label={label}>
      <title>{label}</title>
      {isSize && <path class="under-line" d={`${path(line.values, low, high)}V${HEIGHT}H0Z`} />}
      <path d={path(line.values, low, high)} />
    </svg>
  );
}

function path(values: readonly (number | null)[], low: number, high: number): string {
  const step = WIDTH / Math.max(1, values.length - 1);
  const height = (value: number): number => HEIGHT - 1.5 - ((value - low) / (high - low || 1)) * (HEIGHT - 3);
  let isBegun = false;
  const parts = values.map((value, place) => {
    if (value === null) {
      isBegun = false;
      return "";
    }
    const point = `${isBegun ? "L" : "M"}${(place * step).toFixed(1)} ${height(value).toFixed(1)}`;
    isBegun = true;
    return point;
  });
  return parts.join("");
}
