// What stands beside the figures of the rows in sight: asked for together, once the list rests, and kept.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api.ts";
import type { Glance, Glances, Run } from "../types.ts";

const REST_MILLISECONDS = 120;
const AGAIN_MILLISECONDS = 600;
const MOST_RUNS = 60;
const LIVE_MILLISECONDS = 5_000;

/** How often runs came to be analysed whose health was not known here: why they ended can be counted now. */
export const looked = signal(0);

interface Held {
  glance: Glance;
  /** Whose state this was: another status or other lines make it stale. */
  of: string;
  isWaiting: boolean;
  at: number;
}

const isLive = (run: Run): boolean => run.status === "running" || run.status === "paused" || run.status === "queued";

/** Give what is known of a run at a glance; what is not is asked for. */
export function useGlances(shown: readonly Run[], lines: readonly string[], isWanted: boolean): (run: Run) => Glance | undefined {
  const held = useRef(new Map<string, Held>());
  const [, setTurn] = useState(0);
  const wanted = lines.join(",");
  const stamp = (run: Run): string => `${run.status} ${wanted}`;
  const isStale = (run: Run): boolean => {
    const known = held.current.get(run.run_id);
    if (!known || known.of !== stamp(run)) return true;
    return (known.isWaiting && Date.now() - known.at > AGAIN_MILLISECONDS) || (isLive(run) && Date.now() - known.at > LIVE_MILLISECONDS);
  };
  const stale = isWanted ? shown.filter(isStale).slice(0, MOST_RUNS) : [];
  useEffect(() => {
    if (stale.length === 0) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      const ids = stale.map((run) => run.run_id);
      get<Glances>("/api/v1/runs/glances", { runs: ids, lines }, abort.signal).then(
        (found) => {
          const known = new Map(found.runs.map((one) => [one.run_id, one]));
          const waiting = new Set(found.waiting);
          for (const run of stale) {
            const glance = known.get(run.run_id) ?? { run_id: run.run_id };
            if (glance.health && !held.current.get(run.run_id)?.glance.health) looked.value += 1;
            held.current.set(run.run_id, { glance, of: stamp(run), isWaiting: waiting.has(run.run_id), at: Date.now() });
          }
          setTurn((before) => before + 1);
          if (waiting.size) setTimeout(() => setTurn((before) => before + 1), AGAIN_MILLISECONDS + 50);
        },
        () => undefined, // they are asked for again with the next rows
      );
    }, REST_MILLISECONDS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [stale.map((run) => run.run_id).join(), wanted]);
  return (run) => held.current.get(run.run_id)?.glance;
}
