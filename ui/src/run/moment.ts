// The moment that the reader looks at, in epoch seconds: set by what happened (events, errors, a chart, a line of the
// output), read by whatever can go there (charts, output). Null: none in particular.
import { batch, signal } from "@preact/signals";

export const moment = signal<number | null>(null);

/** Where it was picked: that part stays where it is, the others come into view. */
export const pickedBy = signal<"chart" | "output" | "page">("page");

/** Go to a moment, also where it is the one looked at already. */
export function lookAt(epochSeconds: number, by: "chart" | "output" | "page" = "page"): void {
  moment.value = null;
  batch(() => {
    pickedBy.value = by;
    moment.value = epochSeconds;
  });
}
