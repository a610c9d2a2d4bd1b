// How fresh a chart of a run that goes on is: live, so many seconds old, or lost.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { isSaved } from "../api.ts";
import * as format from "../format.ts";
import { isConnected } from "../stream.ts";
import type { Status } from "../types.ts";

const LIVE_SECONDS = 5;
const LOST_SECONDS = 60;
const now = signal(Date.now());
let readers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** The time, moving on once a second while anybody looks. */
function useNow(): number {
  useEffect(() => {
    readers += 1;
    timer ??= setInterval(() => (now.value = Date.now()), 1000);
    return () => {
      readers -= 1;
      if (readers > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return now.value;
}

/** `times` are those of the newest points: a source that looks every minute is not late after a minute. */
export function Fresh({ status, times }: { status: Status; times: readonly number[] }) {
  const last = times.at(-1);
  const age = Math.max(0, useNow() / 1000 - (last ?? 0));
  if (status === "lost") return <span class="badge warning">lost</span>;
  if (isSaved()) return null; // nothing is on its way to a report in a file
  if (status !== "running" && status !== "paused") return null;
  if (last === undefined) return null;
  const usual = Math.max(LIVE_SECONDS, 3 * (last - (times.at(-2) ?? last)));
  if (isConnected.value && age <= usual) return <span class="badge live">live</span>;
  if (!isConnected.value && age > LOST_SECONDS) return <span class="badge critical">lost</span>;
  return <span class="badge warning">{format.ago(last, last + age)}</span>;
}
