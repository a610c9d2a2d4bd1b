// Which measurements stand in which chart: by what they count, not by who measured them, the method named on each.
import type { Drawn } from "./chart/lines.ts";
import * as format from "./format.ts";
import type { Curve, Line } from "./types.ts";

export interface Panel {
  title: string;
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

/** The first that matches takes a measurement; the order is that of the page. */
const KINDS: readonly Kind[] = [
  {
    title: "Memory",
    matches: /^(cgroup_mem_(current|anon|file)|proc_(rss|pss)_total|psutil_rss_total|ps_rss_total|docker_mem.*)$/,
    show: format.bytes,
    least: 0,
    limitedBy: "memory",
  },
  { title: "CPU", matches: /^(cgroup_cputime|proc_cputime_total|psutil_cputime_total|wait_.*cputime)$/, show: cores, least: 0, limitedBy: "cpus" },
  { title: "GPU utilisation", matches: /^(nvml|nvsmi|rocm|apple|dcgm)_util$/, show: format.percent, least: 0 },
  { title: "GPU memory", matches: /^(nvml|nvsmi|rocm|apple|dcgm)_mem_used$/, show: format.bytes, least: 0 },
  { title: "GPU power", matches: /^(nvml|nvsmi|rocm|apple|dcgm)_power$/, show: (value) => `${format.digits(value)} W`, least: 0 },
  { title: "GPU temperature", matches: /^(nvml|nvsmi|rocm|apple|dcgm)_(mem_)?temp$/, show: (value) => `${format.digits(value)} °C` },
  { title: "Storage", matches: /^(cgroup_io_|proc_)(read|write)(_bytes)?(_total)?$/, show: perSecond, least: 0 },
  { title: "Network", matches: /^(netns|host_net)_(rx|tx)$/, show: perSecond, least: 0 },
  { title: "Pressure", matches: /^(cgroup_\w+_pressure|psi_\w+|cgroup_throttled)$/, show: (value) => format.percent(value * 100), least: 0 },
  { title: "Processes", matches: /^(proc_count|cgroup_pids)$/, show: format.digits, least: 0 },
  { title: "Power", matches: /^rapl_\w+$/, show: (value) => `${format.digits(value)} W`, least: 0 },
  { title: "Host CPU", matches: /^host_(cputime|iowait|steal)$/, show: cores, least: 0 },
  { title: "Host memory available", matches: /^host_mem_available$/, show: format.bytes, least: 0 },
];

/** Lay series out as charts; `zero` is the moment that the horizontal axis begins at. */
export function panels(series: readonly Line[], zero: number): Panel[] {
  return KINDS.flatMap((kind) => {
    const found = series.filter((line) => kind.matches.test(line.key) && line.t.length > 0);
    if (found.length === 0) return [];
    const { title, show } = kind;
    const panel: Panel = { title, show, lines: found.map((line, hue) => drawn(line, hue, zero)), method: methods(found) };
    if (kind.show === format.bytes || kind.show === perSecond) panel.isBytes = true;
    if (kind.least !== undefined) panel.least = kind.least;
    if (kind.limitedBy !== undefined) panel.limitedBy = kind.limitedBy;
    return [panel];
  });
}

function drawn(line: Line, hue: number, zero: number): Drawn {
  const y = line.kind === "gauge" ? line.max : line.mean;
  const isCoarse = line.n.some((count) => count > 1);
  const label = line.instance ? `${line.key} ${line.instance}` : line.key;
  return { label, hue, x: zero ? line.t.map((moment) => moment - zero) : line.t, y, ...(isCoarse ? { low: line.min, high: line.max } : {}) };
}

function methods(lines: readonly Line[]): string {
  return [...new Set(lines.map((line) => line.key.split("_")[0] ?? ""))].join(", ");
}

/** Charts of what a training logged: one a metric, every rank and source a line. */
export function curves(series: readonly Curve[]): Panel[] {
  const names = [...new Set(series.map((curve) => curve.metric))];
  const rank = (name: string): number => (/loss/i.test(name) ? 0 : /acc|reward|score/i.test(name) ? 1 : 2);
  names.sort((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1));
  return names.map((title) => {
    const found = series.filter((curve) => curve.metric === title);
    return { title, lines: found.map(curveDrawn), method: [...new Set(found.map((one) => one.source))].join(", "), show: format.digits };
  });
}

function curveDrawn(curve: Curve, hue: number): Drawn {
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
