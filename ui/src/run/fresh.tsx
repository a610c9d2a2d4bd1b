// How fresh a chart of a run that goes on is: live, so many seconds old, or lost.
import { isSaved } from "../api.ts";
import * as format from "../format.ts";
import { useNow } from "../now.ts";
import { isConnected } from "../stream.ts";
import type { Status } from "../types.ts";

const LIVE_SECONDS = 5;
const LOST_SECONDS = 60;

/** `times` are those of the newest points: a source that looks every minute is not late after a minute. */
export function Fresh({ status, times }: { status: Status; times: readonly number[] }) {
  const last = times.at(-1);
  const age = Math.max(0, useNow() - (last ?? 0));
  if (status === "lost") return <span class="badge warning">lost</span>;
  if (isSaved()) return null; // nothing is on its way to a report in a file
  if (status !== "running" && status !== "paused") return null;
  if (last === undefined) return null;
  const usual = Math.max(LIVE_SECONDS, 3 * (last - (times.at(-2) ?? last)));
  if (isConnected.value && age <= usual) return <span class="badge live">live</span>;
  if (!isConnected.value && age > LOST_SECONDS) return <span class="badge critical">lost</span>;
  return <span class="badge warning">{format.ago(last, last + age)}</span>;
}
