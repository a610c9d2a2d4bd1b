// Runs side by side: what is different, who does best, and their lines in one graph.
import "../style/compare.css";
import { useEffect, useState } from "preact/hooks";
import { get } from "../api.ts";
import { AddRun, Chosen } from "../compare/chosen.tsx";
import { Overlay } from "../compare/overlay.tsx";
import { PhaseBars } from "../compare/phases.tsx";
import { MOST_RUNS, shown, type Shown } from "../compare/state.ts";
import { Differences, Losses, Numbers } from "../compare/table.tsx";
import { useLoaded } from "../load.ts";
import { Empty, Failed, Skeleton } from "../parts/bits.tsx";
import { isWriting } from "../router.ts";
import type { Compared, Run } from "../types.ts";

export function Compare() {
  const now = shown();
  const compared = useLoaded<Compared>(now.ids.length > 1 ? "/api/v1/compare" : null, { runs: now.ids });
  const runs = useRuns(now.ids);
  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if (event.key !== "c" || isWriting(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      document.getElementById("add-run")?.focus();
      event.preventDefault();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
  if (now.ids.length < 2) return <TooFew now={now} runs={runs} />;
  if (compared.problem) {
    return (
      <>
        <h1>Compare</h1>
        <Chosen runs={now.ids.map((id) => known(runs, id))} shown={now} />
        <Failed problem={compared.problem} again={compared.again} />
      </>
    );
  }
  // what is shown belongs together: an answer about other runs waits for theirs
  const isWhole = compared.data && compared.data.runs.join() === now.ids.join() && runs.length === now.ids.length;
  if (!compared.data || !isWhole) return <Skeleton lines={14} />;
  return (
    <>
      <div class="title">
        <h1>Compare {now.ids.length} runs</h1>
        {now.left > 0 && <span class="badge warning">{`${now.left} more left out: ${MOST_RUNS} fit`}</span>}
      </div>
      <Chosen runs={runs} shown={now} />
      <Numbers compared={compared.data} runs={runs} onlyDifferent={now.onlyDifferent} />
      <PhaseBars phases={compared.data.phases} runs={runs} />
      <Overlay runs={runs} shown={now} />
      <Losses compared={compared.data} runs={runs} />
      <Differences title="Settings that differ" none="Command lines and settings are the same." rows={compared.data.config} runs={runs} />
      <Differences title="Surroundings that differ" none="Host, versions, commit and limits are the same, as far as all of them are known." rows={compared.data.environment} runs={runs} />
    </>
  );
}

function TooFew({ now, runs }: { now: Shown; runs: readonly Run[] }) {
  return (
    <Empty title={now.ids.length === 1 ? "One more run to compare" : "Pick two runs or more"} command="jobmeter compare RUN OTHER">
      <p>
        Tick them among <a href="/">all runs</a> and press <kbd>c</kbd>, or look one up here:
      </p>
      {runs.length > 0 ? <Chosen runs={runs} shown={now} /> : <AddRun ids={now.ids} />}
      <p>In a terminal:</p>
    </Empty>
  );
}

function known(runs: readonly Run[], id: string): Run {
  return runs.find((run) => run.run_id === id) ?? { run_id: id, status: "lost" };
}

/** Read the runs themselves, in the order they are named; the same run is read once. */
function useRuns(ids: readonly string[]): Run[] {
  const [held, setHeld] = useState<Record<string, Run>>({});
  const key = ids.join(",");
  useEffect(() => {
    const abort = new AbortController();
    const missing = ids.filter((id) => !(id in held));
    const asked = missing.map((id) => get<Run>(`/api/v1/runs/${encodeURIComponent(id)}`, {}, abort.signal).catch(() => undefined));
    void Promise.all(asked).then((found) => {
      if (abort.signal.aborted) return;
      const fresh = found.flatMap((run) => (run ? [[run.run_id, run] as const] : []));
      setHeld((before) => ({ ...before, ...Object.fromEntries(fresh) }));
    });
    return () => abort.abort();
  }, [key]);
  return ids.flatMap((id) => held[id] ?? []);
}
