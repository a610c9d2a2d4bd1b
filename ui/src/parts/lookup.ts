// Runs by a few letters, while they are written.
import { useEffect, useState } from "preact/hooks";
import { get } from "../api.ts";
import type { Run, RunsPage } from "../types.ts";

const SETTLE_MILLISECONDS = 120;
const MOST_RUNS = 8;

/** Find runs by letters; those found for other letters are none, or a quick Enter would take one of them. */
export function useFound(text: string): readonly Run[] {
  const [found, setFound] = useState<{ text: string; runs: Run[] }>({ text: "", runs: [] });
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => {
      // a name half written is no filter yet: then nothing is found
      get<RunsPage>("/api/v1/runs", { q: text.trim(), limit: MOST_RUNS, fields: "run_id,name,command,status" }, abort.signal).then(
        (page) => setFound({ text, runs: page.runs }),
        () => abort.signal.aborted || setFound({ text, runs: [] }),
      );
    }, SETTLE_MILLISECONDS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  return found.text === text ? found.runs : [];
}
