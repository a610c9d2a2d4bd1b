// What a horizontal axis counts. All charts of a page share a range and a crosshair in moments (seconds since the
// epoch); each lays moments along its own axis: as they are, since the start, or by the steps that were taken then.
import type { StepClock } from "../types.ts";
import { below } from "./lines.ts";

export interface Scale {
  axis: "wall" | "relative" | "step";
  toX: (moment: number) => number;
  fromX: (x: number) => number;
  /** Between which moments the scale is known; beyond, it only goes on as it was. */
  known?: readonly [number, number];
}

const same = (value: number): number => value;

export const wall: Scale = { axis: "wall", toX: same, fromX: same };

/** Steps that nobody knows the times of: a range of its own. */
export const untimed: Scale = { axis: "step", toX: same, fromX: same };

export function relative(zero: number): Scale {
  return { axis: "relative", toX: (moment) => moment - zero, fromX: (x) => x + zero };
}

/** Steps over time; undefined where fewer than two steps have a time. */
export function stepped(clock: StepClock | undefined): Scale | undefined {
  const [steps, times]: [number[], number[]] = [[], []];
  clock?.step.forEach((step, place) => {
    const time = clock.t[place] as number;
    // a loop that was resumed goes back: its last life counts
    while (steps.length > 0 && (steps.at(-1) as number) >= step) {
      steps.pop();
      times.pop();
    }
    if (times.length > 0 && (times.at(-1) as number) >= time) return;
    steps.push(step);
    times.push(time);
  });
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined || times.length < 2) return undefined;
  return {
    axis: "step",
    toX: (moment) => between(times, steps, moment),
    fromX: (x) => between(steps, times, x),
    known: [first, last],
  };
}

function between(from: readonly number[], to: readonly number[], value: number): number {
  const right = Math.min(from.length - 1, Math.max(1, below(from, value)));
  const [x0, x1, y0, y1] = [from[right - 1], from[right], to[right - 1], to[right]] as [number, number, number, number];
  return y0 + ((value - x0) / (x1 - x0)) * (y1 - y0);
}
