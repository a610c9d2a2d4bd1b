// The moment that the reader looks at, in epoch seconds: set by what happened (events, errors, a chart, a line of the
// output), read by whatever can go there (charts, output). Null: none in particular. And the line of the output that
// something else on the page leads to.
import { batch, signal } from "@preact/signals";

export const moment = signal<number | null>(null);

/** Where it was picked: that part stays where it is, the others come into view; with a line, only its line does. */
type Picker = "chart" | "output" | "page" | "line";

export const pickedBy = signal<Picker>("page");

/** Where a line of the output stands. */
export interface LinePlace {
  stream?: string | undefined;
  offset?: number | undefined;
}

export const wantedLine = signal<LinePlace | null>(null);

/** Show a line of the output, also where it is the one shown already; its moment, where known, in the charts. */
export function showLine({ stream, offset }: LinePlace, epochSeconds?: number): void {
  if (epochSeconds !== undefined) lookAt(epochSeconds, "line");
  wantedLine.value = { stream, offset };
}

/** Go to a moment, also where it is the one looked at already. */
export function lookAt(epochSeconds: number, by: Picker = "page"): void {
  moment.value = null;
  batch(() => {
    pickedBy.value = by;
    moment.value = epochSeconds;
  });
}
