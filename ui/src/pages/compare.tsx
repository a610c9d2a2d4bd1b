// Runs side by side: what is different, who does best, and their lines in one graph.
import "../style/compare.css";
import { useEffect, useState } from "preact/hooks";
import { asProblem, get, type Problem } from "../api.ts";
import { Chosen } from "../compare/chosen.tsx";
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
  const { runs, problem, again } = useRuns(now.ids);
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
  const wrong = compared.problem ?? problem;
  if (wrong) {
    return (
      <>
        <h1>Compare</h1>
        <Chosen runs={now.ids.map((id) => known(runs, id))} shown={now} />
        <Failed
          problem={wrong}
          again={() => {
            compared.again();
            again();
          }}
        />
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
    <>
      <h1>Compare</h1>
      <Empty title={now.ids.length === 1 ? "One more run to compare" : "Pick two runs or more"} command="jobmeter compare RUN OTHER">
        <p>
          Tick them among <a href="/">all runs</a> and press <kbd>c</kbd>, or look one up here:
        </p>
        <Chosen runs={runs} shown={now} />
        <p>In a terminal:</p>
      </Empty>
    </>
  );
}

function known(runs: readonly Run[], id: string): Run {
  return runs.find((run) => run.run_id === id) ?? { run_id: id, status: "lost" };
}

interface Named {
  runs: Run[];
  /** Why one of them is not here. */
  problem: Problem | undefined;
  again: () => void;
}

/** Read the runs themselves, in the order they are named; the same run is read once. */
function useRuns(ids: readonly string[]): Named {
  const [held, setHeld] = useState<Record<string, Run>>({});
  const [problem, setProblem] = useState<Problem>();
  const [turn, setTurn] = useState(0);
  const key = ids.join(",");
  useEffect(() => {
    const abort = new AbortController();
    const missing = ids.filter((id) => !(id in held));
    const asked = missing.map((id) => get<Run>(`/api/v1/runs/${encodeURIComponent(id)}`, {}, abort.signal));
    void Promise.allSettled(asked).then((found) => {
      if (abort.signal.aborted) return;
      const fresh = found.flatMap((one) => (one.status === "fulfilled" ? [[one.value.run_id, one.value] as const] : []));
      const failed = found.find((one) => one.status === "rejected");
      setHeld((before) => ({ ...before, ...Object.fromEntries(fresh) }));
      setProblem(failed && asProblem(failed.reason));
    });
    return () => abort.abort();
  }, [key, turn]);
  return { runs: ids.flatMap((id) => held[id] ?? []), problem, again: () => setTurn((before) => before + 1) };
}
