// Who draws in which frame: a page has many charts, and a frame has 16 milliseconds. The chart under the hand comes first
// and in every frame; the others share what time is left, so that a hand is followed however many there are.

interface Job {
  run: () => void;
}

const SLOW_MILLISECONDS = 25;
const FAST_MILLISECONDS = 18;
const MOST_CHARTS = 4;

const waiting = new Set<Job>();
const first = new Set<Job>();
let most = 2;
let last = 0;
let isAsked = false;

/** Do something in one of the next frames; asked for again before that, it is done once. */
export function soon(job: Job, isFirst: boolean): void {
  (isFirst ? first : waiting).add(job);
  ask();
}

function ask(): void {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(frame);
}

function frame(now: number): void {
  isAsked = false;
  const took = now - last;
  last = now;
  if (took > SLOW_MILLISECONDS && took < 500) most = Math.max(1, most - 1);
  else if (took < FAST_MILLISECONDS) most = Math.min(MOST_CHARTS, most + 1);
  let left = most;
  for (const jobs of [first, waiting]) {
    for (const job of jobs) {
      if (left <= 0 && jobs === waiting) break;
      jobs.delete(job);
      job.run();
      left -= 1;
    }
  }
  if (waiting.size > 0) ask();
}
