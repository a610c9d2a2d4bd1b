// The graphs of a run: what it logged and what was measured, with one crosshair, one zoom and one pan for all of them.
import { signal, useSignalEffect, type Signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Chart, type ChartProps, type Range } from "../chart/chart.tsx";
import { moved, type Drawn } from "../chart/lines.ts";
import { relative, stepped, untimed, wall, type Scale } from "../chart/scale.ts";
import * as format from "../format.ts";
import { askAhead, useLoaded } from "../load.ts";
import { curves, paces, panels, type Panel } from "../panels.ts";
import { Failed, Skeleton } from "../parts/bits.tsx";
import { query } from "../router.ts";
import type { Clocks, Curves, Lines, Report, RunShown } from "../types.ts";
import { Controls } from "./chart_controls.tsx";
import { useFineCurves, useFineLines } from "./fine.ts";
import { Fresh } from "./fresh.tsx";
import { useLinked } from "./linked.ts";
import { marksOf } from "./marks.ts";
import { lookAt, moment, pickedBy } from "./moment.ts";
import { memoryKey } from "./memory_at.ts";
import { useNews } from "./news.ts";

/** What the server has ready without unpacking: enough to begin with, and for what is out of sight. */
const OVERVIEW_POINTS = 200;
const NEWS_MILLISECONDS = 500;

export interface View {
  run: RunShown;
  at: string;
  version: string;
  range: Signal<Range | null>;
  /** The range once hands rest. */
  settled: Range | null;
  shared: Pick<ChartProps, "smoothing" | "isLog" | "at" | "onPick">;
}

const asked = (id: string): string => `/api/v1/runs/${encodeURIComponent(id)}`;
const OVERVIEW = { points: OVERVIEW_POINTS };

/** Ask for what the charts begin with, while the page is still made: once for each run that is opened. */
export function prepare(id: string): void {
  for (const what of ["series", "steps", "clock"]) askAhead(`${asked(id)}/${what}`, OVERVIEW);
}

export function Charts({ run, report, isLive }: { run: RunShown; report: Report | undefined; isLive: boolean }) {
  const section = useRef<HTMLElement>(null);
  const { range, settled, smoothing, setSmoothing } = useLinked();
  const isLog = query.value.get("log") === "1";
  const at = asked(run.run_id);
  // how it ended is told by the run itself: its last samples came before that
  const version = `${useNews(run.run_id, !isLive, NEWS_MILLISECONDS)} ${run.status}`;
  const hasSteps = Boolean(run.steps?.count);
  const lines = useLoaded<Lines>(`${at}/series`, OVERVIEW, version);
  const steps = useLoaded<Curves>(hasSteps ? `${at}/steps` : null, OVERVIEW, version);
  const clock = useLoaded<Clocks>(hasSteps ? `${at}/clock` : null, OVERVIEW, version);
  const measured = useMemo(() => panels(lines.data?.series ?? [], 0), [lines.data]);
  const logged = useMemo(() => [...curves(steps.data?.series ?? []), ...paces(clock.data?.clocks ?? [])], [steps.data, clock.data]);
  const scales = useScales(run, clock.data);
  const marks = useMemo(() => marksOf(run.events, report), [run.events, report]);
  const view: View = { run, at, version, range, settled, shared: { smoothing, isLog, at: moment, onPick: (x) => lookAt(x, "chart") } };
  useEffect(() => void (memoryKey.value = measured[0]?.limitedBy === "memory" ? (measured[0].names[0] ?? null) : null), [measured]);
  useSignalEffect(() => followed(range, section.current));
  const isReady = lines.data !== undefined && (!hasSteps || ((steps.data || steps.problem) && (clock.data || clock.problem)));
  const isBare = isReady && measured.length === 0 && logged.length === 0;
  return (
    <section aria-label="Graphs" ref={section} class="graph-section" hidden={isBare}>
      {!isBare && <Controls hasSteps={scales.hasSteps} smoothing={smoothing} setSmoothing={setSmoothing} isLog={isLog} range={range} />}
      {lines.problem && !lines.data && <Failed problem={lines.problem} again={lines.again} />}
      <div class="columns">
        {!isReady && !lines.problem && <Waiting />}
        {isReady && measured.slice(0, 1).map((panel) => <Measured key={panel.title} view={view} panel={panel} scale={scales.measured} marks={marks} isCoarse={lines.data?.coarse ?? false} />)}
        {isReady && logged.map((panel) => <Logged key={`step ${panel.title}`} view={view} panel={panel} scales={scales} isCoarse={steps.data?.coarse ?? false} />)}
        {isReady && measured.slice(1).map((panel) => <Measured key={panel.title} view={view} panel={panel} scale={scales.measured} marks={marks} isCoarse={lines.data?.coarse ?? false} />)}
      </div>
    </section>
  );
}

/** Boxes as large as charts: nothing jumps when they come. */
function Waiting() {
  return (
    <>
      {["one", "two"].map((name) => (
        <div class="chart waiting" key={name}>
          <Skeleton lines={3} />
        </div>
      ))}
    </>
  );
}

/** Show a moment that was picked elsewhere: move the range over it, and come into view. */
function followed(range: View["range"], section: HTMLElement | null): void {
  const picked = moment.value;
  if (picked === null) return;
  const shown = range.peek();
  if (shown && (picked < shown.from || picked > shown.to)) {
    const half = (shown.to - shown.from) / 2;
    range.value = { from: picked - half, to: picked + half };
  }
  if (pickedBy.peek() !== "chart" && pickedBy.peek() !== "line") section?.querySelector("figure")?.scrollIntoView({ block: "center" });
}

export interface Scales {
  measured: Scale;
  logged: Scale;
  /** Steps along time, where their times are known. */
  clock: Scale | undefined;
  hasSteps: boolean;
}

/** How charts lie along the axis that was chosen; without a choice what is logged by step stays so. */
function useScales(run: RunShown, clocks: Clocks | undefined): Scales {
  const wanted = query.value.get("x");
  const started = format.epoch(run.started_at) ?? 0;
  return useMemo(() => {
    const clock = stepped(clocks?.clocks[0]);
    const time = wanted === "wall" ? wall : relative(started);
    const isByTime = clock && (wanted === "wall" || wanted === "relative");
    return { measured: wanted === "step" && clock ? clock : time, logged: isByTime ? time : (clock ?? untimed), clock, hasSteps: clock !== undefined };
  }, [wanted, started, clocks]);
}

const AXES = { wall: "epoch_seconds", relative: "seconds", step: "step" } as const;

function along(scale: Scale): Pick<ChartProps, "axis" | "axisName" | "showX" | "scale"> {
  const shown = {
    wall: format.moment,
    relative: format.seconds,
    step: (x: number) => `step ${Math.round(x).toLocaleString("en")}`,
  };
  return { axis: scale.axis, axisName: AXES[scale.axis], showX: shown[scale.axis], scale };
}

interface MeasuredProps {
  view: View;
  panel: Panel;
  scale: Scale;
  marks: ReturnType<typeof marksOf>;
  isCoarse: boolean;
}

function Measured({ view, panel, scale, marks, isCoarse }: MeasuredProps) {
  const [isSeen, setSeen] = useState(false);
  const fine = useFineLines(view, panel, isSeen && isCoarse);
  const place = (time: number): number | null =>
    scale.known && (time < scale.known[0] || time > scale.known[1]) ? null : scale.toX(time);
  const lines = useMemo(() => fine.map((line) => moved(line, place)), [fine, scale]);
  const shifted = useMemo(
    () => marks.flatMap((mark) => (place(mark.x) === null ? [] : [{ ...mark, x: scale.toX(mark.x) }])),
    [marks, scale],
  );
  const badge = <Fresh status={view.run.status} times={fine[0]?.x ?? []} />;
  return <Chart {...panel} {...limitOf(panel, view.run)} {...along(scale)} {...view.shared} lines={lines} range={view.range} marks={shifted} badge={badge} onSeen={setSeen} />;
}

function Logged({ view, panel, scales, isCoarse }: { view: View; panel: Panel; scales: Scales; isCoarse: boolean }) {
  const { clock, logged } = scales;
  const [isSeen, setSeen] = useState(false);
  const own = useMemo(() => signal<Range | null>(null), []);
  const range = clock ? view.range : own;
  const fine = useFineCurves(view, panel, isSeen && isCoarse && panel.names.length > 0, clock, own);
  const lines = useMemo(
    (): Drawn[] => (clock && logged !== clock ? fine.map((line) => moved(line, (step) => logged.toX(clock.fromX(step)))) : fine),
    [fine, clock, logged],
  );
  const times = clock ? (fine[0]?.x.slice(-2).map(clock.fromX) ?? []) : [];
  const badge = <Fresh status={view.run.status} times={times} />;
  return <Chart {...panel} {...along(logged)} {...view.shared} lines={lines} range={range} badge={badge} onSeen={setSeen} />;
}

function limitOf(panel: Panel, run: RunShown): Pick<ChartProps, "limit"> {
  const value = panel.limitedBy === "memory" ? run.limits?.memory_bytes : panel.limitedBy === "cpus" ? run.limits?.cpus : undefined;
  return value === undefined ? {} : { limit: { value, label: `limit ${panel.show(value)}`, zones: panel.limitedBy === "memory" ? run.memory_zones : undefined } };
}
