// What jobs ask for beside what they use, how much of it is wasted, and what to ask for next time, to copy.
import "../style/sizing.css";
import { useState } from "preact/hooks";
import * as format from "../format.ts";
import { useLoaded } from "../load.ts";
import { Command, Empty, Failed, Skeleton } from "../parts/bits.tsx";
import { query, setQuery } from "../router.ts";
import type { Advised, Sized } from "../types.ts";

type SizedJob = Sized["jobs"][number];

const TARGETS = ["slurm", "k8s", "docker", "nextflow"] as const;
const RESOURCES = { memory: "Memory", cpus: "CPUs", time: "Time", gpus: "GPUs" } as const;

export function Sizing() {
  const target = TARGETS.find((one) => one === query.value.get("for")) ?? "slurm";
  const sized = useLoaded<Sized>("/api/v1/sizing", { target });
  const isOf = !sized.problem && !sized.isLoading;
  const text = query.value.get("q") ?? "";
  if (sized.problem && !sized.data) return <Failed problem={sized.problem} again={sized.again} />;
  if (!sized.data) return <Skeleton lines={10} />;
  const advised = sized.data.jobs.filter((job) => Object.keys(job.advice).length > 0);
  if (advised.length === 0) return <NotYet jobs={sized.data.jobs} />;
  const isAll = query.value.get("all") === "1";
  const jobs = (isAll ? sized.data.jobs : advised).filter((job) => job.job.toLowerCase().includes(text.toLowerCase()));
  const others = sized.data.jobs.length - advised.length;
  return (
    <>
      <div class="title">
        <h1>Sizing</h1>
        <span class="muted">the largest saving first</span>
      </div>
      <div class="search">
        <Find text={text} />
        <label>
          Lines for{" "}
          <select value={target} onChange={(event) => setQuery({ for: event.currentTarget.value })}>
            {TARGETS.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        {others > 0 && (
          <label>
            <input type="checkbox" checked={isAll} onChange={() => setQuery({ all: isAll ? null : "1" })} /> also {others} without advice
          </label>
        )}
      </div>
      {sized.problem && <Failed problem={sized.problem} again={sized.again} />}
      {jobs.length === 0 && <p class="muted">No job has such a name.</p>}
      <div class="columns sized">
        {jobs.map((job) => (
          <Job key={job.job} job={job} isOf={isOf} />
        ))}
      </div>
    </>
  );
}

function NotYet({ jobs }: { jobs: readonly SizedJob[] }) {
  const closest = closestOf(jobs);
  return (
    <>
      <h1>Sizing</h1>
      <Empty title="Not enough runs yet" command="jobmeter run -- ./job.sh">
        <p>
          {jobs.length > 0 ? `${jobs.length} job${jobs.length === 1 ? " is" : "s are"} known, none of them often enough. ` : ""}
          After two runs of a job that ended well, this page says what to ask for next time.
        </p>
        {closest && (
          <p>
            Closest is <b>{closest.job}</b>
            {closest.others > 0 && ` with ${closest.others} other${closest.others === 1 ? "" : "s"}`}: {closest.have} of {closest.wanted} runs that ended well.
          </p>
        )}
      </Empty>
    </>
  );
}

interface Counted {
  job: string;
  have: number;
  wanted: number;
}

/** The job that lacks fewest runs, as the reasons for which nothing is advised count them. */
function closestOf(jobs: readonly SizedJob[]): (Counted & { others: number }) | undefined {
  const counted = jobs.flatMap(({ job, missing }): Counted[] =>
    Object.values(missing).flatMap((reason) => {
      const found = /(\d+) of at least (\d+) runs/.exec(reason);
      return found ? [{ job, have: Number(found[1]), wanted: Number(found[2]) }] : [];
    }),
  );
  const lacks = (one: Counted): number => one.wanted - one.have;
  const [first] = counted.filter((one) => one.have > 0).sort((one, other) => lacks(one) - lacks(other));
  if (!first) return undefined;
  const close = new Set(counted.filter((one) => lacks(one) === lacks(first)).map((one) => one.job));
  return { ...first, others: close.size - 1 };
}

function Find({ text }: { text: string }) {
  const [written, setWritten] = useState(text);
  return (
    <input
      id="search"
      type="search"
      aria-label="Find a job"
      placeholder="Find a job"
      value={written}
      onInput={(event) => {
        setWritten(event.currentTarget.value);
        setQuery({ q: event.currentTarget.value.trim() });
      }}
    />
  );
}

/** `isOf`: whether its lines are of the scheduler that was asked for. */
function Job({ job, isOf }: { job: SizedJob; isOf: boolean }) {
  return (
    <section class="panel" aria-label={job.job} data-row tabIndex={-1}>
      <h2>
        {job.job} <span class="muted">{job.runs.toLocaleString("en")} runs</span>
      </h2>
      <dl class="sizes">
        {Object.entries(RESOURCES).map(([name, title]) => {
          const advice = job.advice[name];
          if (advice) return <Size key={name} title={title} advice={advice} />;
          return job.missing[name] === undefined ? null : <Missing key={name} title={title} reason={job.missing[name]} />;
        })}
      </dl>
      {isOf && job.lines && job.lines.length > 0 && <Command text={job.lines.join("\n")} />}
    </section>
  );
}

function Size({ title, advice }: { title: string; advice: Advised }) {
  const show = (value: number): string => format.amount(value, advice.unit);
  const { asked, typical, largest, advised } = advice;
  const unused = asked === undefined ? undefined : asked - typical;
  const scale = Math.max(asked ?? 0, advised, largest);
  const at = (value: number): string => `${(100 * value) / scale}%`;
  const said = `${title}: ${asked === undefined ? "no limit was asked for" : `asked for ${show(asked)}`}, half of the runs use at most ${show(typical)}, the largest ${show(largest)}`;
  return (
    <div class="size" title={`${advice.method}; too little for ${format.percent(advice.failure_probability * 100)} of runs; confidence ${advice.confidence}, from ${advice.runs} runs`}>
      <dt>{title}</dt>
      <dd>
        <span class="size-bar" role="img" aria-label={said}>
          {asked !== undefined && <i class="asked" style={{ width: at(asked) }} />}
          <i class="largest" style={{ width: at(largest) }} />
          <i class="typical" style={{ width: at(typical) }} />
          <i class="ask-for" style={{ left: at(advised) }} />
        </span>
      </dd>
      <dd class="size-said">
        <span>
          <span class="muted">asked</span> {asked === undefined ? "no limit" : show(asked)}
        </span>
        <span>
          <span class="muted">used</span> {show(typical)}
          {show(largest) === show(typical) ? "" : ` to ${show(largest)}`}
        </span>
        <span>
          <span class="muted">unused</span>{" "}
          {unused === undefined || asked === undefined ? "–" : unused > 0 ? `${show(unused)} (${Math.round((100 * unused) / asked)} %)` : "nothing"}
        </span>
        <b>ask for {show(advised)}</b>
      </dd>
    </div>
  );
}

function Missing({ title, reason }: { title: string; reason: string | undefined }) {
  return (
    <div class="size">
      <dt>{title}</dt>
      <dd class="muted">{reason}</dd>
    </div>
  );
}
