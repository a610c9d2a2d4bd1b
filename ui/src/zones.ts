// From which shares of a limit on memory is called tight: the job's own config says so, or this does.
import type { Zones } from "./types.ts";

export const ZONES: Zones = { warning: 0.85, critical: 0.95 };

export function zoneOf(share: number, { warning, critical }: Zones = ZONES): "critical" | "warning" | undefined {
  return share >= critical ? "critical" : share >= warning ? "warning" : undefined;
}
