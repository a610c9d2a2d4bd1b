// Runs side by side: what is different, who does best, and their lines in one graph.
import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get } from "../api.ts";
import { Chart, type Range } from "../chart/chart.tsx";
import type { Drawn } from "../chart/lines.ts";
import * as format from "../format.ts";
import { useLoaded } from "../load.ts";
import { curves, panels } from "../panels.ts";
import { Empty, Failed, Skeleton } from "../parts/bits.tsx";
import { nameOf } from "../parts/run_columns.tsx";
import { query, setQuery } from "../router.ts";
import { colour } from "../theme.ts";
import type { Compared, Curves, Lines, Run } from "../types.ts";

const MOST_RUNS = 10;
const POINTS = 400;

export function Compare() {
  const ids = (query.value.get("runs") ?? "").split(",").filter(Boolean).slice(0, MOST_RUNS);
  const compared = useLoaded<Compared>(ids.length > 1 ? "/api/v1/compare" : null, { runs: ids });
  const runs = useRuns(ids);
  if (ids.length < 2) {
    return (
      <Empty title="Pick two runs or more">
        <p>
          Tick them among <a href="/">all runs</a>, and press <kbd>c</kbd>.
        </p>
      </Empty>
    );
  }
  if (compared.problem) return <Failed problem={compared.problem} again={compared.again} />;
  if (!compared.data || runs.length === 0) return <Skeleton lines={12} />;
  const names = ids.map((id) => nameOf(runs.find((run) => run.run_id === id) ?? ({ run_id: id, status: "lost" } as Run)));
  return (
    <>
      <h1>Compare</h1>
      <Numbers compared={compared.data} names={names} />
      <Overlay runs={runs} />
      <Differences title="Settings that differ" rows={compared.data.config} names={names} />
      <Differences title="Surroundings that differ" rows={compared.data.environment} names={names} />
    </>
  );
}

function useRuns(ids: readonly string[]): Run[] {
  const [runs, setRuns] = useState<Run[]>([]);
  const key = ids.join(",");
  useEffect(() => {
    const abort = new AbortController();
    const asked = ids.map((id) => get<Run>(`/api/v1/runs/${encodeURIComponent(id)}`, {}, abort.signal).catch(() => undefined));
    void Promise.all(asked).then((found) => setRuns(found.filter((run) => run !== undefined)));
    return () => abort.abort();
  }, [key]);
  return runs;
}

function Names({ names }: { names: readonly string[] }) {
  return (
    <>
      {names.map((name, place) => (
        <th key={place} class="number" title={name}>
          <i class="dot" style={{ background: colour(place) }} /> {name}
        </th>
      ))}
    </>
  );
}

function Numbers({ compared, names }: { compared: Compared; names: readonly string[] }) {
  return (
    <section class="panel wide">
      <table class="plain">
        <thead>
          <tr>
            <th>Number</th>
            <Names names={names} />
          </tr>
        </thead>
        <tbody>
          {compared.metrics.map((metric) => (
            <tr key={metric.key}>
              <td>{metric.key}</td>
              {metric.values.map((value, place) => {
                const change = metric.change_percent[place];
                return (
                  <td key={place} class={metric.winner === compared.runs[place] ? "number winner" : "number"}>
                    {value === null ? "" : shown(metric.key, value)}
                    {place > 0 && typeof change === "number" && <span class="muted"> {change > 0 ? "+" : ""}{format.digits(change)} %</span>}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function shown(key: string, value: number): string {
  if (/bytes|memory|mem_|_rss/.test(key)) return format.bytes(value);
  if (/seconds|wall|cputime/.test(key) && !/per_second/.test(key)) return format.seconds(value);
  if (/percent|util/.test(key)) return format.percent(value);
  return format.digits(value);
}

function Differences({ title, rows, names }: { title: string; rows: Compared["config"]; names: readonly string[] }) {
  if (rows.length === 0) return null;
  return (
    <section class="panel wide">
      <h2>{title}</h2>
      <table class="plain">
        <thead>
          <tr>
            <th />
            <Names names={names} />
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.path}>
              <td>
                <code>{row.path}</code>
              </td>
              {row.values.map((value, place) => (
                <td key={place} class="number">
                  {value === null || value === undefined ? <span class="muted">absent</span> : <code>{text(value)}</code>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function text(value: unknown): string {
  const whole = typeof value === "string" ? value : JSON.stringify(value);
  return whole.length > 60 ? `${whole.slice(0, 57)}…` : whole;
}

/** The same chart of every run, laid over one another from their beginnings on. */
function Overlay({ runs }: { runs: readonly Run[] }) {
  const ranges = useMemo(() => ({ time: signal<Range | null>(null), step: signal<Range | null>(null) }), []);
  const [found, setFound] = useState<{ lines: (Lines | undefined)[]; curves: (Curves | undefined)[] }>();
  const isLog = query.value.get("log") === "1";
  const key = runs.map((run) => run.run_id).join(",");
  useEffect(() => {
    const abort = new AbortController();
    const ask = <T,>(run: Run, what: string): Promise<T | undefined> =>
      get<T>(`/api/v1/runs/${encodeURIComponent(run.run_id)}/${what}`, { points: POINTS }, abort.signal).catch(() => undefined);
    void Promise.all([
      Promise.all(runs.map((run) => ask<Lines>(run, "series"))),
      Promise.all(runs.map((run) => (run.steps?.count ? ask<Curves>(run, "steps") : Promise.resolve(undefined)))),
    ]).then(([lines, steps]) => setFound({ lines, curves: steps }));
    return () => abort.abort();
  }, [key]);
  if (!found) return <Skeleton lines={8} />;
  const measured = laid(runs, (run, place) => panels(found.lines[place]?.series ?? [], format.epoch(run.started_at) ?? 0));
  const logged = laid(runs, (_run, place) => curves(found.curves[place]?.series ?? []));
  return (
    <>
      <div class="search graphs">
        <label>
          <input type="checkbox" checked={isLog} onChange={() => setQuery({ log: isLog ? null : "1" })} /> logarithmic
        </label>
      </div>
      <div class="columns">
        {logged.map((panel) => (
          <Chart
            key={`step ${panel.title}`}
            {...panel}
            axis="step"
            axisName="step"
            showX={(value) => `step ${Math.round(value).toLocaleString("en")}`}
            range={ranges.step}
            isLog={isLog}
          />
        ))}
        {measured.map((panel) => (
          <Chart key={panel.title} {...panel} axis="relative" axisName="seconds" showX={format.seconds} range={ranges.time} isLog={isLog} />
        ))}
      </div>
    </>
  );
}

/** Take the first line of every run's panel of one title: the same question, answered by each. */
function laid(runs: readonly Run[], of: (run: Run, place: number) => ReturnType<typeof panels>): ReturnType<typeof panels> {
  const all = runs.map(of);
  const titles = [...new Set(all.flat().map((panel) => panel.title))];
  return titles.map((title) => {
    const lines: Drawn[] = [];
    all.forEach((found, place) => {
      const first = found.find((panel) => panel.title === title)?.lines[0];
      const run = runs[place];
      if (first && run) lines.push({ ...first, label: nameOf(run), hue: place });
    });
    const sample = all.flat().find((panel) => panel.title === title);
    return { ...(sample as NonNullable<typeof sample>), lines };
  });
}
