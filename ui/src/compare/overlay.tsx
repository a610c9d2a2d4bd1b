// The same chart of every run laid over one another, by time since their beginnings or by step; a part that is zoomed
// into is asked for again, as fine as the screen shows it.
import { signal, type Signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, type Query } from "../api.ts";
import { Chart, type Range } from "../chart/chart.tsx";
import type { Drawn } from "../chart/lines.ts";
import * as format from "../format.ts";
import { curves, panels, type Panel } from "../panels.ts";
import { Skeleton } from "../parts/bits.tsx";
import { nameOf } from "../parts/run_columns.tsx";
import { setQuery } from "../router.ts";
import type { Curves, Lines, Run } from "../types.ts";
import { between, first, type Clocks, type StepClock } from "./clock.ts";
import type { Shown } from "./state.ts";

const POINTS = 400;
const SETTLE_MILLISECONDS = 200;
/** The palette has so many colours; lines beyond it are dashed. */
export const HUES = 8;

interface Read {
  run: Run;
  lines: Lines | undefined;
  steps: Curves | undefined;
  clock: StepClock | undefined;
}

export function Overlay({ runs, shown }: { runs: readonly Run[]; shown: Shown }) {
  const range = useMemo(() => signal<Range | null>(null), [shown.axis]);
  const found = useRead(runs, shown.axis, range);
  const [wanted, setWanted] = useState("");
  // the same lines stay the same: charts draw again only what changed
  const charts = useMemo(() => laid(found ?? [], shown), [found, shown.axis, [...shown.hidden].join()]);
  if (!found) return <Skeleton lines={8} />;
  const matching = charts.filter((panel) => panel.title.toLowerCase().includes(wanted.trim().toLowerCase()));
  const showX = shown.axis === "step" ? (x: number) => `step ${Math.round(x).toLocaleString("en")}` : format.seconds;
  return (
    <section aria-label="Overlay">
      <Settings shown={shown} wanted={wanted} setWanted={setWanted} hasSteps={found.some((one) => one.clock)} />
      <div class="columns">
        {matching.map((panel) => (
          <Chart
            key={`${shown.axis} ${panel.title}`}
            {...panel}
            axis={shown.axis === "step" ? "step" : "relative"}
            axisName={shown.axis === "step" ? "step" : "seconds"}
            showX={showX}
            range={range}
            isLog={shown.isLog}
            smoothing={shown.smoothing}
          />
        ))}
      </div>
      {matching.length === 0 && <p class="muted">{charts.length ? "No chart has such a title." : "These runs have no line in common to draw."}</p>}
    </section>
  );
}

interface SettingsProps {
  shown: Shown;
  wanted: string;
  setWanted: (text: string) => void;
  hasSteps: boolean;
}

function Settings({ shown, wanted, setWanted, hasSteps }: SettingsProps) {
  return (
    <div class="search graphs">
      <label>
        Over{" "}
        <select value={shown.axis} onChange={(event) => setQuery({ x: event.currentTarget.value === "step" ? "step" : null })}>
          <option value="time">time since the start</option>
          <option value="step" disabled={!hasSteps}>
            step
          </option>
        </select>
      </label>
      <label>
        <input type="checkbox" checked={shown.isLog} onChange={() => setQuery({ log: shown.isLog ? null : "1" })} /> logarithmic
      </label>
      <label>
        Smoothing
        <input
          type="range"
          min="0"
          max="0.99"
          step="0.01"
          value={shown.smoothing}
          onInput={(event) => setQuery({ smooth: event.currentTarget.value === "0" ? null : event.currentTarget.value })}
        />
      </label>
      <input
        type="search"
        id="search"
        class="narrow"
        aria-label="Find a chart"
        placeholder="Find a chart"
        value={wanted}
        onInput={(event) => setWanted(event.currentTarget.value)}
      />
    </div>
  );
}

function useRead(runs: readonly Run[], axis: Shown["axis"], range: Signal<Range | null>): Read[] | undefined {
  const [found, setFound] = useState<Read[]>();
  const clocks = found?.map((one) => one.clock);
  const part = range.value;
  const key = runs.map((run) => run.run_id).join(",");
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(
      () => {
        void Promise.all(runs.map((run, place) => read(run, asked(run, clocks?.[place], axis, part), abort.signal))).then(
          (all) => abort.signal.aborted || setFound(all),
        );
      },
      part ? SETTLE_MILLISECONDS : 0,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key, axis, part]);
  return found;
}

async function read(run: Run, part: { series: Query; steps: Query }, abort: AbortSignal): Promise<Read> {
  const hasSteps = run.steps?.count !== undefined;
  const ask = <T,>(what: string, query: Query): Promise<T | undefined> =>
    get<T>(`/api/v1/runs/${encodeURIComponent(run.run_id)}/${what}`, { points: POINTS, ...query }, abort).catch(() => undefined);
  const [lines, steps, clocks] = await Promise.all([
    ask<Lines>("series", part.series),
    hasSteps ? ask<Curves>("steps", part.steps) : undefined,
    hasSteps ? ask<Clocks>("clock", {}) : undefined,
  ]);
  return { run, lines, steps, clock: first(clocks) };
}

/** Say which part of a run's time and of its steps a range of the axis is. */
function asked(run: Run, clock: StepClock | undefined, axis: Shown["axis"], range: Range | null): { series: Query; steps: Query } {
  const start = format.epoch(run.started_at);
  if (!range || start === undefined) return { series: {}, steps: {} };
  const edge = (x: number, xs: number[], ys: number[], isEnd: boolean): number | undefined =>
    between(xs, ys, x) ?? (isEnd ? ys[ys.length - 1] : ys[0]);
  if (axis === "time") {
    const [from, to] = [start + range.from, start + range.to];
    const steps = clock && {
      from: Math.floor(edge(from, clock.t, clock.step, false) ?? 0),
      to: Math.ceil(edge(to, clock.t, clock.step, true) ?? 0),
    };
    return { series: { from, to }, steps: steps ?? {} };
  }
  const steps = { from: Math.floor(range.from), to: Math.ceil(range.to) };
  return { series: clock ? { from: edge(range.from, clock.step, clock.t, false), to: edge(range.to, clock.step, clock.t, true) } : {}, steps };
}

/** One chart a title, of every run that is not hidden its first line: the same question, answered by each. */
function laid(found: readonly Read[], shown: Shown): Panel[] {
  const all = found.map((one) => of(one, shown.axis));
  const titles = [...new Set(all.flat().map((panel) => panel.title))];
  return titles.flatMap((title) => {
    const lines: Drawn[] = [];
    found.forEach(({ run }, place) => {
      const line = all[place]?.find((panel) => panel.title === title)?.lines[0];
      if (line && !shown.hidden.has(run.run_id)) {
        lines.push({ ...line, label: nameOf(run), hue: place, ...(place >= HUES ? { isDashed: true } : {}) });
      }
    });
    const sample = all.flat().find((panel) => panel.title === title);
    return sample && lines.length > 0 ? [{ ...sample, lines }] : [];
  });
}

function of({ run, lines, steps, clock }: Read, axis: Shown["axis"]): Panel[] {
  const start = format.epoch(run.started_at) ?? 0;
  const logged = curves(steps?.series ?? []);
  const measured = panels(lines?.series ?? [], start);
  if (axis === "time") return [...logged.map((panel) => moved(panel, (step) => since(clock, step, start))), ...measured];
  return [...logged, ...measured.map((panel) => moved(panel, (second) => clock ? between(clock.t, clock.step, start + second) : null))];
}

function since(clock: StepClock | undefined, step: number, start: number): number | null {
  const moment = clock ? between(clock.step, clock.t, step) : null;
  return moment === null ? null : moment - start;
}

/** Lay the lines of a panel over another axis; points that have no place on it go. */
function moved(panel: Panel, place: (x: number) => number | null): Panel {
  const lines = panel.lines.flatMap((line) => {
    const xs = line.x.map(place);
    const kept = xs.flatMap((x, at) => (x === null ? [] : [at]));
    if (kept.length === 0) return [];
    const pick = <T,>(values: readonly T[]): T[] => kept.map((at) => values[at] as T);
    const next: Drawn = { ...line, x: pick(xs) as number[], y: pick(line.y) };
    if (line.low && line.high) Object.assign(next, { low: pick(line.low), high: pick(line.high) });
    return [next];
  });
  return { ...panel, lines };
}
