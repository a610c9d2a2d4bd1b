// What to change, with what it will do; and one button that makes the next job's config of it.
import { useState } from "preact/hooks";
import { Problem, send } from "../api.ts";
import { save } from "../chart/chart.tsx";
import type { Report } from "../types.ts";
import { Failed, sentence } from "./bits.tsx";

export function Advice({ report, jobId }: { report: Report; jobId: string }) {
  const { recommendations, findings } = report;
  const settable = recommendations.filter((one) => one.config_path !== null);
  return (
    <>
      {recommendations.length > 0 && (
        <>
          <h2>What to change</h2>
          <div class="advice">
            {recommendations.map((one) => (
              <article class={one.severity} key={`${one.rule} ${one.title}`}>
                <p>
                  <b>{sentence(one.title)}</b> <span class={`badge ${one.severity}`}>{one.severity}</span>
                </p>
                <p>{sentence(one.action)}</p>
                {one.impact && <p class="muted">{sentence(one.impact)}</p>}
                {one.config_path !== null && (
                  <p class="change">
                    {one.config_path}: <del>{shown(one.current_value)}</del> → <ins>{shown(one.recommended_value)}</ins>
                  </p>
                )}
              </article>
            ))}
          </div>
          {settable.length > 0 && <Apply jobId={jobId} />}
        </>
      )}
      {findings.length > 0 && (
        <details open={recommendations.length === 0}>
          <summary>
            {findings.length} thing{findings.length === 1 ? "" : "s"} stood out
          </summary>
          <ul class="evidence">
            {findings.map((one, place) => (
              <li key={place}>
                <span class={`badge ${one.severity}`}>{one.severity}</span> {sentence(one.sentence)}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function shown(value: unknown): string {
  return value === null || value === undefined ? "not set" : typeof value === "string" ? value : JSON.stringify(value);
}

interface Applied {
  config?: unknown;
  text?: string;
}

function Apply({ jobId }: { jobId: string }) {
  const [state, setState] = useState<{ applied?: string; problem?: Problem; isBusy: boolean }>({ isBusy: false });
  const apply = async (): Promise<void> => {
    setState({ isBusy: true });
    try {
      const answer = await send<Applied>("POST", `/api/jobs/${encodeURIComponent(jobId)}/apply`, {});
      setState({ isBusy: false, applied: answer.text ?? JSON.stringify(answer.config ?? answer, null, 2) });
    } catch (problem) {
      setState({ isBusy: false, problem: problem instanceof Problem ? problem : new Problem(0, String(problem)) });
    }
  };
  return (
    <div class="apply">
      <button type="button" class="main" disabled={state.isBusy} onClick={() => void apply()}>
        Apply Recommended Settings
      </button>
      {state.problem && <Failed problem={state.problem} />}
      {state.applied !== undefined && (
        <>
          <p class="muted">The next job's config; nothing was started.</p>
          <textarea
            aria-label="config of the next job"
            rows={14}
            value={state.applied}
            onInput={(event) => setState({ ...state, applied: event.currentTarget.value })}
          />
          <p>
            <button type="button" onClick={() => void navigator.clipboard?.writeText(state.applied ?? "")}>
              Copy
            </button>{" "}
            <button type="button" onClick={() => save("config.json", new Blob([state.applied ?? ""]))}>
              Download
            </button>
          </p>
        </>
      )}
    </div>
  );
}
