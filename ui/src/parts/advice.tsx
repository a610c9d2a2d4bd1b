// What to change, the most urgent first, with what it will do; what stood out; what came of earlier advice.
import * as format from "../format.ts";
import { Apply } from "../run/apply.tsx";
import { currentOf, isSettable } from "../run/settable.ts";
import { Fact } from "../run/fact.tsx";
import type { Context, Followed, Prediction } from "../run/types.ts";
import type { Recommendation, Report, RunShown } from "../types.ts";
import { sentence } from "./bits.tsx";

interface Props {
  run: RunShown;
  report: Report;
  context: Context | undefined;
  isLive: boolean;
}

export function Advice({ run, report, context, isLive }: Props) {
  const { recommendations } = report;
  const settable = recommendations.filter((one) => one.config_path !== null);
  const canApply = context?.again_advised !== undefined || settable.some((one) => isSettable(one, run, context));
  return (
    <>
      {recommendations.length === 0 && <p class="muted nothing">{isLive ? "Nothing so far." : "Nothing is known that would make it better."}</p>}
      {recommendations.length > 0 && (
        <div>
          <ol class="advice" aria-label="Recommendations">
            {recommendations.map((one) => (
              <Change key={`${one.rule} ${one.title}`} one={one} context={context} />
            ))}
          </ol>
          {canApply && <Apply runId={run.run_id} advice={settable} context={context} />}
        </div>
      )}
      <Outcome followed={report.followed ?? []} />
      <StoodOut report={report} />
    </>
  );
}

function Change({ one, context }: { one: Recommendation; context: Context | undefined }) {
  const current = currentOf(one, context);
  return (
    <li class={one.severity}>
      <p>
        <b>{sentence(one.title)}</b> <span class={`badge ${one.severity}`}>{one.severity}</span>
      </p>
      <p>{sentence(one.action)}</p>
      {one.config_path !== null && (
        <p class="change">
          <code>{one.config_path}</code> {current !== undefined && <del>{current}</del>} → <ins>{shown(one.recommended_value)}</ins>
        </p>
      )}
      {one.impact && <p class="muted">{sentence(one.impact)}</p>}
      {(one.predicted ?? []).map((told) => (
        <p class="muted" key={told.quantity}>
          {predicted(told)}
        </p>
      ))}
      {one.evidence.length > 0 && (
        <details>
          <summary>Why</summary>
          <ul class="evidence">
            {one.evidence.map((fact, place) => (
              <Fact key={place} fact={fact} />
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}

function predicted({ quantity, unit, before, after, low, high }: Prediction): string {
  const show = (value: number): string => format.amount(value, unit);
  const name = quantity.replace(/_(bytes|seconds|percent)$/, "").replaceAll("_", " ");
  return `${sentence(`${name}: ${show(before)} → ${show(after)}, nine times of ten ${show(low)} to ${show(high)}`)}`;
}

function shown(value: unknown): string {
  return value === null || value === undefined ? "not set" : typeof value === "string" ? value : JSON.stringify(value);
}

function Outcome({ followed }: { followed: readonly Followed[] }) {
  if (followed.length === 0) return null;
  return (
    <div class="advised">
      <h3>What came of earlier advice</h3>
      <ul class="evidence">
        {followed.map((one) => (
          <li key={one.rule}>
            <code>{one.config_path ?? one.rule}</code> {one.value !== undefined && `is ${shown(one.value)} now: `}
            {one.predicted.quantity.replaceAll("_", " ")} was {format.amount(one.predicted.before, one.predicted.unit)}, was to become{" "}
            {format.amount(one.predicted.after, one.predicted.unit)}, became <b>{format.amount(one.actual, one.predicted.unit)}</b>
          </li>
        ))}
      </ul>
    </div>
  );
}

function StoodOut({ report: { findings, recommendations } }: { report: Report }) {
  if (findings.length === 0) return null;
  return (
    <details class="advised" open={recommendations.length === 0}>
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
  );
}
