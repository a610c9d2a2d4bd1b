// One run: what happened, why, what to change, then the graphs and the output behind it.
import { signal, useComputed } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Chart, type Mark, type Range } from "../chart/chart.tsx";
import * as format from "../format.ts";
import { throttle, useLoaded } from "../load.ts";
import { panels, curves, type Panel } from "../panels.ts";
import { Failed, Health, sentence, Skeleton, StatusBadge } from "../parts/bits.tsx";
import { nameOf } from "../parts/run_columns.tsx";
import { Advice } from "../parts/advice.tsx";
import { Output } from "../parts/output.tsx";
import { People } from "../parts/people.tsx";
import { query, setQuery } from "../router.ts";
import { listen } from "../stream.ts";
import type { Curves, Happened, Lines, Report, RunShown } from "../types.ts";

const LIVE = new Set(["queued", "running", "paused"]);

export function Run({ id }: { id: string }) {
  const at = `/api/v1/runs/${encodeURIComponent(id)}`;
  const run = useLoaded<RunShown>(at);
  const report = useLoaded<Report>(`${at}/report`);
  const isLive = run.data !== undefined && LIVE.has(run.data.status);
  useEffect(() => {
    const look = throttle(2000, () => {
      run.again();
      report.again();
    });
    return listen((event) => {
      if (event.kind === "reset" || event.data["run_id"] === id) look();
    });
  }, [id]);
  useEffect(() => {
    document.title = run.data ? `${nameOf(run.data)} · jobmeter` : "jobmeter";
  }, [run.data]);
  if (run.problem && !run.data) return <Failed problem={run.problem} again={run.again} />;
  if (!run.data) return <Skeleton lines={10} />;
  return (
    <>
      <Heading run={run.data} />
      <section class="panel" aria-label="Summary">
        <div class="title">
          <h2>Performance Analysis</h2>
          {report.data && <Health value={report.data.health} />}
        </div>
        {report.data ? <VerdictTold report={report.data} isLive={isLive} /> : report.problem ? <Failed problem={report.problem} /> : <Skeleton />}
        <Figures run={run.data} errors={report.data?.log_errors.length} />
        {report.data && <Advice report={report.data} jobId={run.data.job_id ?? id} />}
      </section>
      <Graphs run={run.data} report={report.data} />
      <Output id={id} isLive={isLive} errors={report.data?.log_errors ?? []} />
      <Background run={run.data} again={run.again} />
    </>
  );
}

function Heading({ run }: { run: RunShown }) {
  const started = format.epoch(run.started_at);
  return (
    <>
      <div class="title">
        <h1>{nameOf(run)}</h1>
        <StatusBadge status={run.status} />
      </div>
      <div class="under">
        {run.project && <a href={`/?q=${encodeURIComponent(`project=${run.project}`)}`}>{run.project}</a>}
        <code>{run.run_id}</code>
        {run.host && <span>{run.host}</span>}
        {run.user && <span>{run.user}</span>}
        {started !== undefined && <span>{format.moment(started)}</span>}
        {run.name && run.command && <code>{run.command.join(" ")}</code>}
        {Object.entries(run.tags ?? {}).map(([key, value]) => (
          <span class="badge" key={key}>
            {key}={value}
          </span>
        ))}
      </div>
    </>
  );
}

function VerdictTold({ report, isLive }: { report: Report; isLive: boolean }) {
  const { verdict } = report;
  return (
    <div class="verdict">
      <p>
        <b>{sentence(verdict.sentence)}</b>{" "}
        {!isLive && verdict.cause !== "completed" && <span class="muted">{verdict.cause}, {format.percent(verdict.confidence * 100)} sure</span>}
      </p>
      {verdict.evidence.length > 0 && (
        <ul class="evidence">
          {verdict.evidence.slice(0, 5).map((one, place) => (
            <li key={place}>
              {sentence(one.sentence)} {one.source && <code>{one.source}</code>}
              {one.quote && <blockquote>{one.quote}</blockquote>}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Figures({ run, errors }: { run: RunShown; errors: number | undefined }) {
  const figures: { title: string; value: string; note?: string | undefined }[] = [];
  const head = run.headline ?? {};
  const memory = head["memory_peak_bytes"];
  if (memory) figures.push({ title: "Peak memory", ...against(memory.value, run.limits?.memory_bytes), note: memory.keys.join(", ") });
  if (run.wall_seconds !== undefined) figures.push({ title: "Duration", value: format.seconds(run.wall_seconds) });
  const cpu = head["cpu_seconds"];
  if (cpu) {
    const used = run.wall_seconds ? `${format.digits(cpu.value / run.wall_seconds)} cores on average` : undefined;
    figures.push({ title: "CPU time", value: format.seconds(cpu.value), note: used });
  }
  const gpu = head["gpu_util_percent"];
  if (gpu) figures.push({ title: "GPU", value: format.percent(gpu.value), note: gpu.keys.join(", ") });
  const ending = run.signal ?? run.exit_code;
  if (ending !== undefined) figures.push({ title: "Exit", value: String(ending) });
  if (errors !== undefined) figures.push({ title: "Errors in the output", value: String(errors) });
  if (run.steps?.last_step !== undefined) figures.push({ title: "Last step", value: run.steps.last_step.toLocaleString("en") });
  return (
    <div class="figures">
      {figures.map((one) => (
        <div class="figure" key={one.title}>
          <span class="muted">{one.title}</span>
          <b>{one.value}</b>
          {one.note && <span class="muted">{one.note}</span>}
        </div>
      ))}
    </div>
  );
}

function against(value: number, limit: number | undefined): { value: string } {
  if (limit === undefined) return { value: format.bytes(value) };
  return { value: `${format.bytes(value)} / ${format.bytes(limit)} (${Math.round((100 * value) / limit)} %)` };
}

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

function Graphs({ run, report }: { run: RunShown; report: Report | undefined }) {
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

function Background({ run, again }: { run: RunShown; again: () => void }) {
  const missing = Object.entries(run.provenance?.missing ?? {});
  return (
    <div class="columns">
      <People run={run} again={again} />
      {run.by_command && run.by_command.length > 0 && (
        <section class="panel">
          <h2>Who used it</h2>
          <table class="plain">
            <thead>
              <tr>
                <th>Command</th>
                <th class="number">CPU</th>
                <th class="number">Memory</th>
                <th class="number">Processes</th>
              </tr>
            </thead>
            <tbody>
              {run.by_command.slice(0, 12).map((one) => (
                <tr key={one.command}>
                  <td>{one.command}</td>
                  <td class="number">{one.cpu_seconds === undefined ? "" : format.seconds(one.cpu_seconds)}</td>
                  <td class="number">{one.peak_rss_bytes === undefined ? "" : format.bytes(one.peak_rss_bytes)}</td>
                  <td class="number">{one.processes}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {missing.length > 0 && (
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
      )}
    </div>
  );
}
