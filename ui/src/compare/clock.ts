// Steps laid over time and time over steps, by what the server says of when steps were taken.

export interface StepClock {
  rank: number;
  step: number[];
  t: number[];
}

export interface Clocks {
  clocks: StepClock[];
}

/** The clock of the lowest rank; a run without steps has none. */
export function first(clocks: Clocks | undefined): StepClock | undefined {
  return clocks?.clocks.filter((one) => one.step.length > 1).sort((one, other) => one.rank - other.rank)[0];
}

/** Read a value between two places of rising `xs`; outside of them nothing is known. */
export function between(xs: readonly number[], ys: readonly number[], x: number): number | null {
  const last = xs.length - 1;
  if (last < 0 || x < (xs[0] as number) || x > (xs[last] as number)) return null;
  let [low, high] = [0, last];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((xs[middle] as number) <= x) low = middle;
    else high = middle;
  }
  const [x0, x1, y0, y1] = [xs[low], xs[high], ys[low], ys[high]] as [number, number, number, number];
  return x1 === x0 ? y0 : y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}
