// Columns of the runs table: what each shows, how wide it is, which field of the server's it sorts by, which keys of a
// run and which small lines it needs.
import type { ComponentChildren } from "preact";
import * as format from "../format.ts";
import { shortCommand, wholeCommand } from "../naming.ts";
import type { Glance, Headline, Run } from "../types.ts";
import { Spark } from "../runs/spark.tsx";
import { Health, StatusBadge } from "./bits.tsx";

export interface Column {
  name: string;
  title: string;
  pixels: number;
  /** Takes a share of what is left. */
  grows?: number;
  sort?: string;
  isNumber?: boolean;
  /** Keys of a run, beside its id and status, that the list has to bring. */
  needs?: readonly string[];
  line?: "memory" | "cpu" | "loss";
  cell: (run: Run, glance?: Glance) => ComponentChildren;
  /** The bare value, for a file; what the cell shows where absent. */
  plain?: (run: Run, glance?: Glance) => string | number | undefined;
}

export function nameOf(run: Run): string {
  return run.name ?? shortCommand(run) ?? run.run_id;
}

/** What a run is called where there is room: its name, or the command as it was given. */
export function wholeNameOf(run: Run): string {
  return run.name ?? wholeCommand(run) ?? run.run_id;
}

/** A headline number in words; one that is not exact is marked, as `jobmeter ls` marks it. */
export function written(figure: Headline, show: (value: number) => string): string {
  return `${figure.exact ? "" : "~"}${show(figure.value)}`;
}

/** How a run ended for whoever started it: its signal, or its exit status. */
export function exitOf(run: Run): string | number | undefined {
  return run.signal?.replace(/^SIG/, "") ?? run.exit_code;
}

/** A column of a headline number. */
function figure(name: string, title: string, key: string, sort: string, show: (value: number) => string): Column {
  const plain = (run: Run): number | undefined => run.headline?.[key]?.value;
  const cell = (run: Run): ComponentChildren => {
    const found = run.headline?.[key];
    return found && <span title={found.exact ? undefined : "not exact"}>{written(found, show)}</span>;
  };
  return { name, title, pixels: title.length > 8 ? 108 : 88, sort, isNumber: true, needs: ["headline"], cell, plain };
}

/** A column of words that stand in the run itself. */
function words(name: "project" | "host" | "user" | "group" | "job_id" | "message", title: string, pixels: number): Column {
  const plain = (run: Run): string | undefined => run[name];
  return { name, title, pixels, sort: name, needs: [name], cell: (run) => <span title={plain(run)}>{plain(run)}</span>, plain };
}

function moment(name: "started" | "ended", title: string): Column {
  const plain = (run: Run): string | undefined => run[`${name}_at`];
  const cell = (run: Run): ComponentChildren => {
    const at = format.epoch(plain(run));
    if (at === undefined) return "";
    const whole = format.moment(at);
    // the second tells runs apart that a script starts one after the other; the year is that of today
    const isThisYear = whole.slice(0, 4) === String(new Date().getFullYear());
    return <span title={whole}>{isThisYear ? whole.slice(5) : whole.slice(0, 16)}</span>;
  };
  return { name, title, pixels: 136, sort: name, needs: [`${name}_at`], cell, plain };
}

function spark(name: string, title: string, line: "memory" | "cpu" | "loss"): Column {
  return { name, title, pixels: 112, line, cell: (_, glance) => <Spark line={glance?.lines?.[line]} />, plain: () => undefined };
}

/** The last argument of a command that is too long for a cell: a file is told from others by how its path ends. */
function endOf(run: Run, name: string): string {
  const last = run.name === undefined && (run.command?.length ?? 0) > 1 ? (run.command?.at(-1) ?? "") : "";
  const end = last.slice(Math.max(0, last.lastIndexOf("/")));
  return name.length > SHORT_NAME && last.includes("/") && !/\s/.test(last) && name.endsWith(end) ? end.slice(-LONGEST_END) : "";
}

const SHORT_NAME = 22;
const LONGEST_END = 16;

function Name({ run }: { run: Run }) {
  const name = nameOf(run);
  const end = endOf(run, name);
  return (
    <a href={`/jobs/${encodeURIComponent(run.run_id)}`} class={end && "ended"} title={wholeCommand(run)}>
      {end ? (
        <>
          <span>{name.slice(0, -end.length)}</span>
          <span>{end}</span>
        </>
      ) : (
        name
      )}
    </a>
  );
}

const tags = (run: Run): string[] => Object.entries(run.tags ?? {}).map(([key, value]) => (value ? `${key}=${value}` : key));

export const COLUMNS: readonly Column[] = [
  {
    name: "name",
    title: "Run",
    pixels: 142,
    grows: 3,
    sort: "name",
    needs: ["name", "command"],
    plain: wholeNameOf,
    cell: (run) => <Name run={run} />,
  },
  { name: "status", title: "Status", pixels: 104, sort: "status", plain: (run) => run.status, cell: (run) => <StatusBadge status={run.status} /> },
  {
    name: "health",
    title: "Health",
    pixels: 86,
    plain: (_, glance) => glance?.health,
    cell: (_, glance) => glance?.health && <Health value={glance.health} />,
  },
  { ...words("project", "Project", 90), grows: 1 },
  moment("started", "Started"),
  moment("ended", "Ended"),
  {
    name: "wall",
    title: "Took",
    pixels: 88,
    sort: "wall",
    isNumber: true,
    needs: ["wall_seconds"],
    plain: (run) => run.wall_seconds,
    cell: (run) => (run.wall_seconds === undefined ? "" : format.seconds(run.wall_seconds)),
  },
  figure("cpu", "CPU", "cpu_seconds", "cpu_seconds", format.seconds),
  figure("memory", "Peak memory", "memory_peak_bytes", "memory_peak", format.bytes),
  spark("memory_line", "Memory", "memory"),
  spark("cpu_line", "Cores", "cpu"),
  spark("loss_line", "Loss", "loss"),
  figure("gpu", "GPU", "gpu_util_percent", "gpu_util", format.percent),
  figure("gpu_memory", "GPU memory", "gpu_memory_peak_bytes", "gpu_memory", format.bytes),
  figure("read", "Read", "io_read_bytes", "io_read", format.bytes),
  figure("written", "Written", "io_write_bytes", "io_write", format.bytes),
  figure("energy", "Energy", "energy_joules", "energy", (value) => `${format.digits(value)} J`),
  {
    name: "exit",
    title: "Exit",
    pixels: 76,
    sort: "exit_code",
    isNumber: true,
    needs: ["exit_code", "signal"],
    plain: (run) => run.signal ?? run.exit_code,
    cell: (run) => exitOf(run) ?? "",
  },
  {
    name: "steps",
    title: "Steps",
    pixels: 84,
    sort: "steps.last_step",
    isNumber: true,
    needs: ["steps"],
    plain: (run) => run.steps?.last_step,
    cell: (run) => run.steps?.last_step?.toLocaleString("en") ?? "",
  },
  { ...words("host", "Host", 72), grows: 0.7 },
  words("user", "User", 90),
  words("group", "Group", 100),
  words("job_id", "Job", 190),
  { ...words("message", "Message", 180), grows: 1 },
  {
    name: "tags",
    title: "Tags",
    pixels: 120,
    grows: 1,
    needs: ["tags"],
    plain: (run) => tags(run).join(" "),
    cell: (run) => <span title={tags(run).join(" ")}>{tags(run).join(" ")}</span>,
  },
];

export const DEFAULT = ["name", "status", "health", "project", "started", "wall", "cpu", "memory", "memory_line", "exit", "host"];

const METRIC = "metric.";

/** A column by its name; any metric of a training is one too. */
export function columnNamed(name: string): Column | undefined {
  const found = COLUMNS.find((column) => column.name === name);
  if (found || !name.startsWith(METRIC)) return found;
  const metric = name.slice(METRIC.length);
  const plain = (run: Run): number | string | undefined => run.steps?.metrics?.[metric]?.last;
  const cell = (run: Run): string => {
    const value = plain(run);
    return typeof value === "number" ? format.digits(value) : (value ?? "");
  };
  return { name, title: metric, pixels: 96, sort: name, isNumber: true, needs: ["steps"], plain, cell };
}
