// What jobs ask for beside what they use, and what to ask for next time, to copy.
import { useState } from "preact/hooks";
import * as format from "../format.ts";
import { useLoaded } from "../load.ts";
import { Command, Empty, Failed, Skeleton } from "../parts/bits.tsx";
import { query, setQuery } from "../router.ts";
import type { Advised, Sized } from "../types.ts";

const TARGETS = ["slurm", "k8s", "docker", "nextflow"] as const;
const RESOURCES = ["memory", "cpus", "time", "gpus"] as const;

export function Sizing() {
  const target = query.value.get("for") ?? "slurm";
  const sized = useLoaded<Sized>("/api/v1/sizing", { target });
  const [isAll, setAll] = useState(false);
  if (sized.problem) return <Failed problem={sized.problem} again={sized.again} />;
  if (!sized.data) return <Skeleton lines={8} />;
  const known = sized.data.jobs.filter((job) => Object.keys(job.advice).length > 0);
  const shown = isAll ? sized.data.jobs : known;
  if (known.length === 0) {
    return (
      <Empty title="Not enough runs yet" command="jobmeter size">
        <p>After two runs of a job that ended well, this page says what to ask for next time.</p>
      </Empty>
    );
  }
  return (
    <>
      <div class="title">
        <h1>Sizing</h1>
        <span class="grow" />
        <label>
          Lines for{" "}
          <select value={target} onChange={(event) => setQuery({ for: event.currentTarget.value })}>
            {TARGETS.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <button type="button" onClick={() => setAll(!isAll)}>
          {isAll ? "Only jobs with advice" : `All ${sized.data.jobs.length} jobs`}
        </button>
      </div>
      <div class="columns">
        {shown.map((job) => (
          <section class="panel" key={job.job}>
            <h2>
              {job.job} <span class="muted">{job.runs} runs</span>
            </h2>
            <table class="plain">
              <thead>
                <tr>
                  <th />
                  <th class="number">Asked</th>
                  <th class="number">Typical</th>
                  <th class="number">Largest</th>
                  <th class="number">Ask for</th>
                  <th class="number">Saves</th>
                </tr>
              </thead>
              <tbody>
                {RESOURCES.map((name) => {
                  const advice = job.advice[name];
                  return advice ? <Row key={name} name={name} advice={advice} /> : <Missing key={name} name={name} reason={job.missing[name]} />;
                })}
              </tbody>
            </table>
            {job.lines && job.lines.length > 0 && <Command text={job.lines.join("\n")} />}
          </section>
        ))}
      </div>
    </>
  );
}

function Row({ name, advice }: { name: string; advice: Advised }) {
  const show = (value: number | undefined): string => (value === undefined ? "" : format.amount(value, advice.unit));
  const saving = advice.expected_saving;
  return (
    <tr title={`${advice.method}; fails in ${format.percent(advice.failure_probability * 100)} of runs; confidence ${advice.confidence}`}>
      <td>{name}</td>
      <td class="number">{show(advice.asked)}</td>
      <td class="number">{show(advice.typical)}</td>
      <td class="number">{show(advice.largest)}</td>
      <td class="number">
        <b>{show(advice.advised)}</b>
      </td>
      <td class={saving !== undefined && saving > 0 ? "number winner" : "number"}>
        {saving === undefined ? "" : format.percent(saving * 100)}
      </td>
    </tr>
  );
}

function Missing({ name, reason }: { name: string; reason: string | undefined }) {
  if (reason === undefined) return null;
  return (
    <tr>
      <td>{name}</td>
      <td class="muted" colSpan={5}>
        {reason}
      </td>
    </tr>
  );
}
