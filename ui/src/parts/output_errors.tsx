// The errors in a job's output: a list of them, and steps from one to the next.
import * as format from "../format.ts";
import type { LinePlace } from "../run/moment.ts";
import type { LogError, Report } from "../types.ts";

type Go = (to: LinePlace) => void;
export type Placed = LogError & { offset: number };

const MOST_LISTED = 8;

export function isWarning(error: LogError): boolean {
  return error.level === "WARNING";
}

/** Those of which it is known where they stand, in the order they stand in. */
export function placed(errors: readonly LogError[]): Placed[] {
  const found = errors.filter((error): error is Placed => error.offset !== undefined);
  return found.sort((one, other) => (one.stream ?? "").localeCompare(other.stream ?? "") || one.offset - other.offset);
}

/** The error that the verdict stands on, else the first: the line to begin to read at. */
export function rootOf({ verdict, log_errors }: Report): Placed | undefined {
  const found = placed(log_errors).filter((error) => !isWarning(error));
  const isTold = (error: Placed): boolean =>
    verdict.evidence.some((fact) => fact.offset === error.offset && (fact.source === "log" || fact.source === error.stream));
  return found.find(isTold) ?? found.toSorted((one, other) => (one.timestamp ?? "").localeCompare(other.timestamp ?? ""))[0];
}

export function ErrorSteps({ errors, at, stream, go }: { errors: readonly Placed[]; at: number | undefined; stream: string | undefined; go: Go }) {
  if (errors.length === 0) return null;
  const place = errors.findIndex((error) => error.offset === at && (!error.stream || error.stream === stream));
  const step = (by: number): void => {
    const next = place < 0 ? (by > 0 ? 0 : errors.length - 1) : (place + by + errors.length) % errors.length;
    go(errors[next] as Placed);
  };
  return (
    <span class="walk" role="group" aria-label="Errors">
      <button type="button" aria-label="Previous error" onClick={() => step(-1)}>
        ‹
      </button>
      <span>
        {place < 0 ? `${errors.length} error${errors.length === 1 ? "" : "s"}` : `error ${place + 1} of ${errors.length}`}
      </span>
      <button type="button" aria-label="Next error" onClick={() => step(1)}>
        ›
      </button>
    </span>
  );
}

export function ErrorList({ errors, go }: { errors: readonly LogError[]; go: Go }) {
  if (errors.length === 0) return null;
  return (
    <ul class="errors">
      {errors.slice(0, MOST_LISTED).map((error, place) => (
        <li key={place}>
          <button type="button" class="quiet" disabled={error.offset === undefined} onClick={() => go(error)}>
            <span class={`badge ${isWarning(error) ? "warning" : "critical"}`}>{error.type ?? error.level}</span> {error.message}
            {error.count > 1 && ` (${error.count} times)`}
            {error.memory_at_time_bytes !== undefined && <span class="muted"> at {format.bytes(error.memory_at_time_bytes)}</span>}
          </button>
        </li>
      ))}
    </ul>
  );
}
