// Which measurements stand in which chart: by what they count, not by who measured them, the method named on each.
import type { Drawn } from "./chart/lines.ts";
import * as format from "./format.ts";
import type { Curve, Line, StepClock } from "./types.ts";

export interface Panel {
  title: string;
  /** The measurements or metrics that it is of. */
  names: string[];
  lines: Drawn[];
  method: string;
  show: (value: number) => string;
  least?: number;
  isBytes?: boolean;
  /** Which limit of the run belongs to it. */
  limitedBy?: "memory" | "cpus";
}

interface Kind {
  title: string;
  matches: RegExp;
  show: (value: number) => string;
  least?: number;
  limitedBy?: "memory" | "cpus";
}

const perSecond = (value: number): string => `${format.bytes(value)}/s`;
const cores = (value: number): string => `${format.digits(value)} cores`;

const watts = (value: number): string => `${format.digits(value)} W`;

/** The first that matches takes a measurement; the order is that of the page. */
const KINDS: readonly Kind[] = [
  {
    title: "Memory",
    matches: /^(cgroup_mem_(current|anon|file|shmem)|proc_(rss|pss)_total|psutil_(rss|pss)_total|ps_rss_total|docker_mem.*)$/,
    show: format.bytes,
    least: 0,
    limitedBy: "memory",
  },
  { title: "CPU", matches: /^(cgroup_cputime|proc_cputime_total|psutil_cputime_total|wait_cputime)$/, show: cores, least: 0, limitedBy: "cpus" },
  { title: "GPU utilisation", matches: /^(nvml|nvsmi|rocm|apple|dcgm|fleet)_util$/, show: format.percent, least: 0 },
  { title: "GPU memory", matches: /^(nvml|nvsmi|rocm|apple|dcgm|fleet)_mem_used$/, show: format.bytes, least: 0 },
  { title: "GPU power", matches: /^(nvml|nvsmi|rocm|apple|dcgm)_power$/, show: watts, least: 0 },
  { title: "GPU temperature", matches: /^(nvml|nvsmi|rocm|apple|dcgm)_((mem|junction)_)?temp$/, show: (value) => `${format.digits(value)} °C` },
  { title: "Storage", matches: /^((cgroup|wait)_io_(read|write)|proc_(read|write)_bytes_total)$/, show: perSecond, least: 0 },
  { title: "Network", matches: /^(netns|host_net)_(rx|tx)$/, show: perSecond, least: 0 },
  { title: "Pressure", matches: /^(cgroup_(cpu|mem|io)_pressure|psi_\w+|cgroup_throttled)$/, show: (value) => format.percent(value * 100), least: 0 },
  { title: "Processes", matches: /^(proc_count|cgroup_pids)$/, show: format.digits, least: 0 },
  { title: "Energy", matches: /^(rapl_\w+|(nvml|rocm|apple|nvsmi)_energy(_estimate)?)$/, show: watts, least: 0 },
  { title: "Host CPU", matches: /^host_(cputime|iowait|steal)$/, show: cores, least: 0 },
  { title: "Host storage", matches: /^host_(read|write)_bytes$/, show: perSecond, least: 0 },
  { title: "Host memory available", matches: /^host_mem_available$/, show: format.bytes, least: 0 },
];

/** Lay series out as charts; `zero` is the moment that the horizontal axis begins at. */
export function panels(series: readonly Line[], zero: number): Panel[] {
  return KINDS.flatMap((kind) => {
    const found = series.filter((line) => kind.matches.test(line.key) && line.t.length > 0);
    if (found.length === 0) return [];
    const { title, show } = kind;
    const names = [...new Set(found.map((line) => line.key))];
    const panel: Panel = { title, show, names, lines: found.map((line, hue) => drawn(line, hue, zero)), method: methods(found) };
    if (kind.show === format.bytes || kind.show === perSecond) panel.isBytes = true;
    if (kind.least !== undefined) panel.least = kind.least;
    if (kind.limitedBy !== undefined) panel.limitedBy = kind.limitedBy;
    return [panel];
  });
}

export function drawn(line: Line, hue: number, zero: number): Drawn {
  const y = line.kind === "gauge" ? line.max : line.mean;
  const isCoarse = line.n.some((count) => count > 1);
  const label = line.instance ? `${line.key} ${line.instance}` : line.key;
  return { label, hue, x: zero ? line.t.map((moment) => moment - zero) : line.t, y, ...(isCoarse ? { low: line.min, high: line.max } : {}) };
}

function methods(lines: readonly Line[]): string {
  const sources = [...new Set(lines.map((line) => line.key.split("_")[0] ?? ""))].join(", ");
  const rates = lines.filter((line) => line.rate).length;
  return rates === 0 ? sources : rates === lines.length ? `${sources}, a second` : `${sources}, partly a second`;
}

/** Charts of what a training logged: one a metric, every rank and source a line. */
export function curves(series: readonly Curve[]): Panel[] {
  const names = [...new Set(series.map((curve) => curve.metric))];
  const rank = (name: string): number => (/loss/i.test(name) ? 0 : /acc|reward|score/i.test(name) ? 1 : /per_sec|throughput/i.test(name) ? 2 : 3);
  names.sort((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1));
  return names.map((title) => {
    const found = series.filter((curve) => curve.metric === title);
    return { title, names: [title], lines: found.map(curveDrawn), method: [...new Set(found.map((one) => one.source))].join(", "), show: format.digits };
  });
}

export function curveDrawn(curve: Curve, hue: number): Drawn {
  const y = curve.last.map((value) => (typeof value === "number" ? value : null));
  const isCoarse = curve.n.some((count) => count > 1);
  return {
    label: curve.rank ? `rank ${curve.rank}` : curve.metric,
    hue,
    x: curve.step,
    y,
    ...(isCoarse ? { low: curve.min, high: curve.max } : {}),
  };
}

/** How fast steps went by, as the server's clock has it. */
export function paces(clocks: readonly StepClock[]): Panel[] {
  const lines = clocks.map((clock, hue) => ({
    label: clock.rank ? `rank ${clock.rank}` : "steps a second",
    hue,
    x: clock.step,
    y: clock.steps_per_second,
  }));
  if (lines.every((line) => line.x.length < 3)) return [];
  const method = [...new Set(clocks.map((clock) => clock.source))].join(", ");
  return [{ title: "Throughput", names: [], lines, method, show: (value) => `${format.digits(value)}/s`, least: 0 }];
}
