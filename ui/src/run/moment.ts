// The moment that the reader looks at, in epoch seconds: set by what happened (events, errors, lines of the output),
// read by whatever can go there (charts, output). Null: none in particular.
import { signal } from "@preact/signals";

export const moment = signal<number | null>(null);

/** Go to a moment, also where it is the one looked at already. */
export function lookAt(epochSeconds: number): void {
  moment.value = null;
  moment.value = epochSeconds;
}
