// What was not measured, and why.
import type { RunShown } from "../types.ts";

export function Provenance({ run }: { run: RunShown }) {
  const missing = Object.entries(run.provenance?.missing ?? {});
  if (missing.length === 0) return null;
  return (
    <section class="panel">
      <h2>Not measured, because</h2>
      <dl class="facts">
        {missing.map(([source, reason]) => (
          <>
            <dt>{source}</dt>
            <dd>{reason}</dd>
          </>
        ))}
      </dl>
    </section>
  );
}
