// What the run was: its settings, and where and with what it ran.
import { useState } from "preact/hooks";
import * as format from "../format.ts";
import { Command, copy, NOT_COPIED, Skeleton } from "../parts/bits.tsx";
import { tell } from "../parts/overlays.tsx";
import type { RunShown } from "../types.ts";
import type { Context } from "./types.ts";

const FILTERED_FROM = 16;

export function Config({ context }: { context: Context | undefined }) {
  if (!context) {
    return (
      <section class="panel" aria-label="Config">
        <h2>Config</h2>
        <Skeleton lines={5} />
      </section>
    );
  }
  const rows = flat(context.config);
  return (
    <section class="panel" aria-label="Config">
      <div class="title">
        <h2>Config</h2>
        {context.config_path && <code class="muted">{context.config_path}</code>}
        <span class="grow" />
        {rows.length > 0 && (
          <button type="button" class="quiet" onClick={() => void copy(JSON.stringify(context.config, null, 2)).then((isDone) => tell({ text: isDone ? "Copied" : NOT_COPIED }))}>
            Copy
          </button>
        )}
      </div>
      {rows.length > 0 ? (
        <Facts rows={rows} label="Filter the config" />
      ) : (
        <>
          <p class="muted">No config was recorded with this run. A training hands its own over:</p>
          <Command text={'jobmeter.init(config={"lr": 1e-3})'} />
        </>
      )}
    </section>
  );
}

/** A tree as paths and values, in its own order. */
export function flat(tree: unknown, path = ""): [string, string][] {
  if (Array.isArray(tree) && tree.some((one) => typeof one === "object" && one !== null)) {
    return tree.flatMap((one, place) => flat(one, `${path}[${place}]`));
  }
  if (typeof tree === "object" && tree !== null && !Array.isArray(tree)) {
    return Object.entries(tree).flatMap(([name, value]) => flat(value, path ? `${path}.${name}` : name));
  }
  if (tree === undefined) return [];
  return [[path, typeof tree === "string" ? tree : JSON.stringify(tree)]];
}

export function Facts({ rows, label }: { rows: readonly [string, string][]; label: string }) {
  const [words, setWords] = useState("");
  const wanted = words.toLowerCase();
  const shown = wanted ? rows.filter((row) => row.join(" ").toLowerCase().includes(wanted)) : rows;
  return (
    <>
      {rows.length >= FILTERED_FROM && (
        <p>
          <input type="search" aria-label={label} placeholder={label} value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        </p>
      )}
      <dl class={`facts long ${rows.length >= FILTERED_FROM ? "many" : ""}`} {...(rows.length >= FILTERED_FROM ? { tabIndex: 0 } : {})}>
        {shown.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

export function Environment({ run, context }: { run: RunShown; context: Context | undefined }) {
  const packages = Object.entries(context?.packages ?? {});
  const variables = Object.entries(context?.environment ?? {});
  return (
    <section class="panel" aria-label="Environment">
      <h2>Environment</h2>
      {context ? (
        <>
          <Facts rows={surroundings(run, context)} label="Filter the environment" />
          <More title="Variables" rows={variables} />
          <More title="Packages" rows={packages} />
          <More title="Options of jobmeter" rows={flat(context.options ?? {})} />
          {context.again && (
            <>
              <h3>Record it again</h3>
              <Command text={context.again} />
            </>
          )}
        </>
      ) : (
        <Skeleton lines={6} />
      )}
    </section>
  );
}

function More({ title, rows }: { title: string; rows: readonly [string, string][] }) {
  if (rows.length === 0) return null;
  return (
    <details>
      <summary>
        {title} ({rows.length})
      </summary>
      <Facts rows={rows} label={`Filter ${title.toLowerCase()}`} />
    </details>
  );
}

function surroundings(run: RunShown, context: Context): [string, string][] {
  const host = context.host ?? {};
  const told: [string, string | undefined][] = [
    ["command", run.command?.join(" ")],
    ["folder", run.cwd],
    ["host", run.host],
    ["user", run.user],
    ["system", words(host["distribution"], host["system"], host["release"], host["machine"])],
    ["machine", words(host["cpus"] && `${host["cpus"]} CPUs`, typeof host["memory_bytes"] === "number" && format.bytes(host["memory_bytes"]))],
    ["allowed", allowed(context)],
    ["Python", context.python],
    ["git", words(context.git?.["branch"], context.git?.["commit"], context.git?.["dirty"] === true && "with changes")],
    ["resumed", context.resumed],
    ["recorded by", context.recorder?.version && `jobmeter ${context.recorder.version}`],
  ];
  const rest = flat({ versions: context.versions, frameworks: context.frameworks, slurm: context.slurm });
  return [...told.filter((row): row is [string, string] => Boolean(row[1])), ...rest];
}

function words(...parts: unknown[]): string {
  return parts.filter(Boolean).join(", ");
}

function allowed({ limits }: Context): string {
  const memory = limits?.memory_bytes !== undefined && `${format.bytes(limits.memory_bytes)} of memory${limits.memory_source ? ` by ${limits.memory_source}` : ""}`;
  const cpus = limits?.cpus !== undefined && `${format.digits(limits.cpus)} CPUs${limits.cpus_source ? ` by ${limits.cpus_source}` : ""}`;
  return words(memory, cpus);
}
