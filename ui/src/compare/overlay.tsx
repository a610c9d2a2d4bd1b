// The same chart of every run laid over one another, by time since their beginnings or by step; a part that is zoomed
// into is asked for again, as fine as the screen shows it.
import { signal, type Signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { asProblem, get, type Problem, type Query } from "../api.ts";
import { Chart, type Range } from "../chart/chart.tsx";
import { moved, type Drawn } from "../chart/lines.ts";
import { stepped, type Scale } from "../chart/scale.ts";
import * as format from "../format.ts";
import { curves, panels, type Panel } from "../panels.ts";
import { Failed, Skeleton } from "../parts/bits.tsx";
import { setQuery } from "../router.ts";
import type { Clocks, Curves, Lines, Run } from "../types.ts";
import { namesOf } from "./names.ts";
import type { Shown } from "./state.ts";

const POINTS = 400;
const SETTLE_MILLISECONDS = 200;
/** What rounding may add to the last moment that is known. */
const SLACK_SECONDS = 1e-3;
/** The palette has so many colours; lines beyond it are dashed. */
export const HUES = 8;

interface Read {
  run: Run;
  lines: Lines | undefined;
  steps: Curves | undefined;
  /** Its steps along time, where it has any. */
  clock: Scale | undefined;
  /** Why a part of it is not here. */
  problem: Problem | undefined;
}

export function Overlay({ runs, shown }: { runs: readonly Run[]; shown: Shown }) {
  const range = useMemo(() => signal<Range | null>(null), [shown.axis]);
  const [turn, setTurn] = useState(0);
  const found = useRead(runs, shown.axis, range, turn);
  const [wanted, setWanted] = useState("");
  // the same lines stay the same: charts draw again only what changed
  const charts = useMemo(() => laid(found ?? [], shown), [found, shown.axis, [...shown.hidden].join()]);
  if (!found) return <Skeleton lines={8} />;
  const problem = found.find((one) => one.problem)?.problem;
  const matching = charts.filter((panel) => panel.title.toLowerCase().includes(wanted.trim().toLowerCase()));
  const showX = shown.axis === "step" ? (x: number) => `step ${Math.round(x).toLocaleString("en")}` : format.seconds;
  return (
    <section aria-label="Overlay">
      <Settings shown={shown} wanted={wanted} setWanted={setWanted} hasSteps={found.some((one) => one.clock)} />
      {problem && <Failed problem={problem} again={() => setTurn((before) => before + 1)} />}
      <div class="columns">
        {matching.map((panel) => (
          <Chart
            key={`${shown.axis} ${panel.title}`}
            {...panel}
            badge={panel.without && <NoData names={panel.without} />}
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

/** Who has no line in a chart. */
function NoData({ names }: { names: readonly string[] }) {
  const text = `no data: ${names.join(", ")}`;
  return (
    <span class="no-data muted" title={text}>
      {text}
    </span>
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

function useRead(runs: readonly Run[], axis: Shown["axis"], range: Signal<Range | null>, turn: number): Read[] | undefined {
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
  }, [key, axis, part, turn]);
  return found;
}

async function read(run: Run, part: { series: Query; steps: Query }, abort: AbortSignal): Promise<Read> {
  const hasSteps = run.steps?.count !== undefined;
  let problem: Problem | undefined;
  const ask = <T,>(what: string, query: Query): Promise<T | undefined> =>
    get<T>(`/api/v1/runs/${encodeURIComponent(run.run_id)}/${what}`, { points: POINTS, ...query }, abort).catch((error: unknown) => {
      problem = asProblem(error);
      return undefined;
    });
  const [lines, steps, clocks] = await Promise.all([
    ask<Lines>("series", part.series),
    hasSteps ? ask<Curves>("steps", part.steps) : undefined,
    hasSteps ? ask<Clocks>("clock", {}) : undefined,
  ]);
  return { run, lines, steps, clock: clockOf(clocks), problem };
}

/** Steps along time by the clock of the lowest rank that has one. */
function clockOf(found: Clocks | undefined): Scale | undefined {
  const timed = found?.clocks.toSorted((one, other) => one.rank - other.rank).flatMap((one) => stepped(one) ?? []);
  return timed?.[0];
}

/** Say which part of a run's time and of its steps a range of the axis is. */
function asked(run: Run, clock: Scale | undefined, axis: Shown["axis"], range: Range | null): { series: Query; steps: Query } {
  const start = format.epoch(run.started_at);
  if (!range || start === undefined) return { series: {}, steps: {} };
  if (axis === "time") {
    const [from, to] = [start + range.from, start + range.to];
    return { series: { from, to }, steps: clock ? { from: Math.floor(clock.toX(within(clock, from))), to: Math.ceil(clock.toX(within(clock, to))) } : {} };
  }
  const series = clock ? { from: within(clock, clock.fromX(range.from)), to: within(clock, clock.fromX(range.to)) } : {};
  return { series, steps: { from: Math.floor(range.from), to: Math.ceil(range.to) } };
}

/** The nearest moment that a clock knows. */
function within({ known = [-Infinity, Infinity] }: Scale, moment: number): number {
  return Math.min(known[1], Math.max(known[0], moment));
}

interface Laid extends Panel {
  /** The names of runs that are not hidden and have none of it. */
  without?: string[];
}

/** One chart a title, of every run that is not hidden one line: the same measurement of all, where they have one in common. */
function laid(found: readonly Read[], shown: Shown): Laid[] {
  const all = found.map((one) => of(one, shown.axis));
  const names = namesOf(found.map((one) => one.run));
  const titles = [...new Set(all.flat().map((panel) => panel.title))];
  return titles.flatMap((title) => {
    const having = found.flatMap(({ run }, place) => {
      const panel = all[place]?.find((one) => one.title === title);
      return panel && panel.lines.length > 0 && !shown.hidden.has(run.run_id) ? [{ panel, place }] : [];
    });
    const common = having[0]?.panel.lines.find((line) => having.every(({ panel }) => panel.lines.some((other) => other.label === line.label)))?.label;
    const lines = having.flatMap(({ panel, place }) => {
      const line = panel.lines.find((one) => one.label === common) ?? panel.lines[0];
      // what is not the same everywhere is named: one way to measure memory is no match for another
      const label = common === undefined ? `${names[place]}, ${line?.label}` : (names[place] ?? "");
      return line ? [{ ...line, label, hue: place, ...(place >= HUES ? { isDashed: true } : {}) }] : [];
    });
    const sample = having[0]?.panel;
    const without = found.flatMap(({ run }, place) => (shown.hidden.has(run.run_id) || having.some((one) => one.place === place) ? [] : (names[place] ?? "")));
    return sample && lines.length > 0 ? [{ ...sample, lines, ...(without.length ? { without } : {}) }] : [];
  });
}

function of({ run, lines, steps, clock }: Read, axis: Shown["axis"]): Panel[] {
  const start = format.epoch(run.started_at) ?? 0;
  const logged = curves(steps?.series ?? []);
  if (axis === "step") return [...logged, ...panels(lines?.series ?? [], 0).map((panel) => over(panel, (moment) => (isKnown(clock, moment) ? clock.toX(within(clock, moment)) : null)))];
  const timed = logged.map((panel) =>
    over(panel, (step) => {
      const moment = clock?.fromX(step);
      return moment !== undefined && isKnown(clock, moment) ? moment - start : null;
    }),
  );
  return [...timed, ...panels(lines?.series ?? [], start)];
}

function isKnown(clock: Scale | undefined, moment: number): clock is Scale {
  return clock?.known !== undefined && Math.abs(within(clock, moment) - moment) < SLACK_SECONDS;
}

/** Lay the lines of a panel over another axis; one that has no place on it goes. */
function over(panel: Panel, to: (x: number) => number | null): Panel {
  return { ...panel, lines: panel.lines.map((line) => moved(line, to)).filter((line: Drawn) => line.x.length > 0) };
}
