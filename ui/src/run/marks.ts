// What happened to a run, as marks along time.
import type { Mark } from "../chart/chart.tsx";
import * as format from "../format.ts";
import { isWarning } from "../parts/output_errors.tsx";
import type { Happened, Report } from "../types.ts";

const UNMARKED = new Set(["start", "end", "sampling_start"]);

export function marksOf(events: readonly Happened[] | undefined, report: Report | undefined): Mark[] {
  const found: Mark[] = [];
  for (const event of events ?? []) {
    const x = format.epoch(event.timestamp);
    if (x === undefined || UNMARKED.has(event.type)) continue;
    found.push({ x, label: event.type.replaceAll("_", " "), isBad: /oom|error|alert|fail|stall$/.test(event.type) });
  }
  for (const error of report?.log_errors ?? []) {
    const x = format.epoch(error.timestamp);
    if (x !== undefined) found.push({ x, label: error.message.slice(0, 80), isBad: !isWarning(error) });
  }
  return found;
}
