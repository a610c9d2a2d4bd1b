// Columns of the runs table: what each shows, how wide it is, which field of the server's it sorts by.
import type { ComponentChildren } from "preact";
import * as format from "../format.ts";
import type { Run } from "../types.ts";
import { StatusBadge } from "./bits.tsx";

export interface Column {
  name: string;
  title: string;
  width: string;
  sort?: string;
  isNumber?: boolean;
  cell: (run: Run) => ComponentChildren;
}

function figure(run: Run, name: string, show: (value: number) => string): string {
  const found = run.headline?.[name];
  return found === undefined ? "" : show(found.value);
}

export function nameOf(run: Run): string {
  return run.name ?? run.command?.join(" ") ?? run.run_id;
}

export const COLUMNS: readonly Column[] = [
  {
    name: "name",
    title: "Run",
    width: "minmax(14rem, 2.2fr)",
    sort: "name",
    cell: (run) => (
      <a href={`/jobs/${encodeURIComponent(run.run_id)}`} title={run.command?.join(" ")}>
        {nameOf(run)}
      </a>
    ),
  },
  { name: "status", title: "Status", width: "7rem", sort: "status", cell: (run) => <StatusBadge status={run.status} /> },
  { name: "project", title: "Project", width: "minmax(7rem, 0.8fr)", sort: "project", cell: (run) => run.project ?? "" },
  {
    name: "started",
    title: "Started",
    width: "10.5rem",
    sort: "started",
    cell: (run) => {
      const at = format.epoch(run.started_at);
      return at === undefined ? "" : format.moment(at).slice(0, 16);
    },
  },
  {
    name: "wall",
    title: "Took",
    width: "7rem",
    sort: "wall",
    isNumber: true,
    cell: (run) => (run.wall_seconds === undefined ? "" : format.seconds(run.wall_seconds)),
  },
  {
    name: "cpu",
    title: "CPU",
    width: "7rem",
    sort: "cpu_seconds",
    isNumber: true,
    cell: (run) => figure(run, "cpu_seconds", format.seconds),
  },
  {
    name: "memory",
    title: "Memory peak",
    width: "8rem",
    sort: "memory_peak",
    isNumber: true,
    cell: (run) => figure(run, "memory_peak_bytes", format.bytes),
  },
  {
    name: "gpu",
    title: "GPU",
    width: "5rem",
    sort: "gpu_util",
    isNumber: true,
    cell: (run) => figure(run, "gpu_util_percent", format.percent),
  },
  {
    name: "exit",
    title: "Exit",
    width: "5rem",
    sort: "exit_code",
    isNumber: true,
    cell: (run) => run.signal ?? run.exit_code ?? "",
  },
  { name: "host", title: "Host", width: "minmax(6rem, 0.7fr)", sort: "host", cell: (run) => run.host ?? "" },
  {
    name: "tags",
    title: "Tags",
    width: "minmax(7rem, 1fr)",
    cell: (run) =>
      Object.entries(run.tags ?? {})
        .map(([key, value]) => `${key}=${value}`)
        .join(" "),
  },
];

export const DEFAULT = ["name", "status", "project", "started", "wall", "cpu", "memory", "exit", "host"];

export function chosen(names: string | null): Column[] {
  const wanted = names ? names.split(",") : DEFAULT;
  const found = wanted.flatMap((name) => COLUMNS.find((column) => column.name === name) ?? []);
  return found.length ? found : COLUMNS.filter((column) => DEFAULT.includes(column.name));
}
