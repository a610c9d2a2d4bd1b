// How the numbers came to be: what was not measured and why, and which source each number came from.
import * as format from "../format.ts";
import { Skeleton } from "../parts/bits.tsx";
import { Facts } from "./context.tsx";
import type { Context, Measured } from "./types.ts";

export function Provenance({ context }: { context: Context | undefined }) {
  return (
    <section class="panel" aria-label="Provenance">
      <h2>Where the numbers come from</h2>
      {context ? <Told context={context} /> : <Skeleton lines={5} />}
    </section>
  );
}

function Told({ context }: { context: Context }) {
  const dropped = Object.entries(context.dropped ?? {}).map(([name, count]): [string, string] => [name, `${count.toLocaleString("en")} lines`]);
  return (
    <>
      {context.origin !== "jobmeter" && <p>Measured by {context.origin}, and imported.</p>}
      <Reasons title="Not measured, because" rows={Object.entries(context.missing)} />
      <Reasons title="Not exact, because" rows={Object.entries(context.inexact ?? {})} />
      <Reasons title="Dropped" rows={dropped} />
      {context.measured.map(({ source, keys }) => (
        <details key={source}>
          <summary>
            <code>{source}</code> {keys.length} {keys.length === 1 ? "number" : "numbers"}
          </summary>
          <dl class="facts long">
            {keys.map((one) => (
              <div key={one.key}>
                <dt>
                  <code>{one.key}</code>
                </dt>
                <dd>
                  {one.about} {cameTo(one) && <b>{cameTo(one)}</b>}
                </dd>
              </div>
            ))}
          </dl>
        </details>
      ))}
    </>
  );
}

function Reasons({ title, rows }: { title: string; rows: readonly [string, string][] }) {
  if (rows.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <Facts rows={rows} label={`Filter ${title}`} />
    </>
  );
}

function cameTo(one: Measured): string {
  const [tool = ""] = one.key.split("_");
  return Object.entries(one.summary)
    .map(([name, value]) => {
      const word = name === one.key ? "" : name.slice(tool.length + 1).split("_")[0];
      return `${word ? `${word} ` : ""}${typeof value === "number" ? format.amount(value, one.unit) : value}`;
    })
    .join(", ");
}
