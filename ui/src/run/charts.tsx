// The graphs of a run: what it logged over its steps, what was measured over time; one zoom for all of a kind.
import { signal, useComputed } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Chart, type Mark, type Range } from "../chart/chart.tsx";
import * as format from "../format.ts";
import { useLoaded } from "../load.ts";
import { panels, curves, type Panel } from "../panels.ts";
import { Failed, Skeleton } from "../parts/bits.tsx";
import { query, setQuery } from "../router.ts";
import type { Curves, Happened, Lines, Report, RunShown } from "../types.ts";

function marksOf(events: readonly Happened[] | undefined, report: Report | undefined): Mark[] {
  const found: Mark[] = [];
  for (const event of events ?? []) {
    const x = format.epoch(event.timestamp);
    if (x === undefined || ["start", "end", "sampling_start"].includes(event.type)) continue;
    found.push({ x, label: event.type.replaceAll("_", " "), isBad: /oom|error|alert|fail|stall$/.test(event.type) });
  }
  for (const error of report?.log_errors ?? []) {
    const x = format.epoch(error.timestamp);
    if (x !== undefined) found.push({ x, label: error.message.slice(0, 80), isBad: true });
  }
  return found;
}

export function Charts({ run, report }: { run: RunShown; report: Report | undefined }) {
  const ranges = useMemo(() => ({ time: signal<Range | null>(null), step: signal<Range | null>(null) }), []);
  const time = useComputed(() => ranges.time.value).value;
  const step = useComputed(() => ranges.step.value).value;
  const [smoothing, setSmoothing] = useState(0);
  const [isLog, setLog] = useState(false);
  const axis = query.value.get("x") === "wall" ? "wall" : "relative";
  const started = format.epoch(run.started_at) ?? 0;
  const zero = axis === "wall" ? 0 : started;
  const at = `/api/v1/runs/${encodeURIComponent(run.run_id)}`;
  const version = `${run.samples ?? 0} ${run.steps?.count ?? 0}`;
  const lines = useLoaded<Lines>(`${at}/series`, { points: 800, from: time && time.from + zero, to: time && time.to + zero });
  const steps = useLoaded<Curves>(run.steps?.count ? `${at}/steps` : null, {
    points: 800,
    from: step && Math.floor(step.from),
    to: step && Math.ceil(step.to),
  });
  useEffect(() => {
    lines.again();
    steps.again();
  }, [version]);
  const marks = useMemo(() => marksOf(run.events, report), [run.events, report]);
  const shifted = useMemo(() => marks.map((mark) => ({ ...mark, x: mark.x - zero })), [marks, zero]);
  const measured = useMemo(() => panels(lines.data?.series ?? [], zero), [lines.data, zero]);
  const logged = useMemo(() => curves(steps.data?.series ?? []), [steps.data]);
  return (
    <section aria-label="Graphs">
      <div class="search graphs">
        <label>
          Time{" "}
          <select
            value={axis}
            onChange={(event) => {
              ranges.time.value = null;
              setQuery({ x: event.currentTarget.value === "wall" ? "wall" : null });
            }}
          >
            <option value="relative">since the start</option>
            <option value="wall">of day</option>
          </select>
        </label>
        {logged.length > 0 && (
          <>
          <label>
            Smoothing{" "}
            <input type="range" min="0" max="0.99" step="0.01" value={smoothing} onInput={(event) => setSmoothing(Number(event.currentTarget.value))} />
          </label>
          <label>
            <input type="checkbox" checked={isLog} onChange={() => setLog(!isLog)} /> logarithmic
          </label>
          </>
        )}
      </div>
      {lines.problem && <Failed problem={lines.problem} again={lines.again} />}
      <div class="columns">
        {logged.map((panel) => (
          <Chart
            key={`step ${panel.title}`}
            {...panel}
            axis="step"
            axisName="step"
            showX={(value) => `step ${Math.round(value).toLocaleString("en")}`}
            range={ranges.step}
            smoothing={smoothing}
            isLog={isLog}
          />
        ))}
        {measured.map((panel) => (
          <Chart
            key={panel.title}
            {...panel}
            {...limitOf(panel, run)}
            axis={axis}
            axisName={axis === "wall" ? "epoch_seconds" : "seconds"}
            showX={(value) => (axis === "wall" ? format.moment(value) : format.seconds(Math.max(0, value)))}
            range={ranges.time}
            marks={shifted}
          />
        ))}
        {!lines.data && !lines.problem && <Skeleton lines={6} />}
      </div>
    </section>
  );
}

function limitOf(panel: Panel, run: RunShown): { limit?: { value: number; label: string } } {
  const value = panel.limitedBy === "memory" ? run.limits?.memory_bytes : panel.limitedBy === "cpus" ? run.limits?.cpus : undefined;
  return value === undefined ? {} : { limit: { value, label: `limit ${panel.show(value)}` } };
}
