// Numbers of all runs with the best marked and the difference to the first; settings and surroundings that are not the same.
import type { ComponentChildren } from "preact";
import * as format from "../format.ts";
import { setQuery } from "../router.ts";
import { colour } from "../theme.ts";
import type { Compared, Run } from "../types.ts";
import { wholeNameOf, written } from "../parts/run_columns.tsx";
import { Endings, useEndings } from "./endings.tsx";
import { fromDifference, namesOf } from "./names.ts";
import { HUES } from "./overlay.tsx";

const WORDS: Record<string, string> = {
  wall: "Wall time",
  cpu_seconds: "CPU time",
  cores: "Cores used",
  memory_peak: "Memory peak",
  io_read: "Read",
  io_write: "Written",
  gpu_util: "GPU utilisation",
  gpu_memory: "GPU memory peak",
  energy: "Energy",
  "steps.last_step": "Last step",
  "steps.per_second": "Steps a second",
  samples_per_second: "Samples a second",
  tokens_per_second: "Tokens a second",
  loss: "Loss, last",
  "loss.min": "Loss, least",
  eval_loss: "Evaluation loss",
  accuracy: "Accuracy",
  eval_accuracy: "Evaluation accuracy",
};

/** Which headline of a run a number is: it says whether the number is exact. */
const HEADLINES: Record<string, string> = {
  cpu_seconds: "cpu_seconds",
  memory_peak: "memory_peak_bytes",
  io_read: "io_read_bytes",
  io_write: "io_write_bytes",
  gpu_util: "gpu_util_percent",
  gpu_memory: "gpu_memory_peak_bytes",
  energy: "energy_joules",
};

function amount(key: string, unit: string, value: number): string {
  if (key === "gpu_util") return format.percent(value);
  if (key === "energy") return format.amount(value, "joules");
  return format.amount(value, unit || null);
}

export function Dot({ place }: { place: number }) {
  const hue = colour(place);
  return <i class="dot" style={place < HUES ? { background: hue } : { boxShadow: `inset 0 0 0 2px ${hue}` }} />;
}

function Head({ runs, first }: { runs: readonly Run[]; first: string }) {
  return (
    <thead>
      <tr>
        <th scope="col">{first}</th>
        {namesOf(runs).map((name, place) => (
          <Named key={runs[place]?.run_id} name={name} place={place} run={runs[place]} />
        ))}
      </tr>
    </thead>
  );
}

function Named({ name, place, run }: { name: string; place: number; run: Run | undefined }) {
  return (
    <th scope="col" class="number" title={run && wholeNameOf(run)}>
      <Dot place={place} /> {name}
    </th>
  );
}

/** A table that scrolls within its panel, reachable by keyboard. */
export function Wide({ title, aside, children }: { title: string; aside?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="panel compared">
      <div class="title">
        <h2>{title}</h2>
        <span class="grow" />
        {aside}
      </div>
      <div class="compared-scroll" tabIndex={0} role="region" aria-label={title}>
        {children}
      </div>
    </section>
  );
}

export function Numbers({ compared, runs, onlyDifferent }: { compared: Compared; runs: readonly Run[]; onlyDifferent: boolean }) {
  const reports = useEndings(runs);
  const rows = onlyDifferent ? compared.metrics.filter((one) => new Set(one.values).size > 1) : compared.metrics;
  const aside = (
    <label class="muted">
      <input type="checkbox" checked={onlyDifferent} onChange={() => setQuery({ only: onlyDifferent ? null : "different" })} /> only what differs
    </label>
  );
  return (
    <Wide title="Numbers" aside={aside}>
      <table class="plain compared-numbers">
        <Head runs={runs} first="★ is best, % to the first" />
        <tbody>
          <Endings {...{ runs, reports, onlyDifferent }} />
          {rows.map((metric) => (
            <tr key={metric.key}>
              <th scope="row">{WORDS[metric.key] ?? metric.key}</th>
              {metric.values.map((value, place) => (
                <Value key={place} {...{ metric, value, place }} run={runs[place]} isBest={metric.winner === compared.runs[place]} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="muted">No number differs.</p>}
    </Wide>
  );
}

interface ValueProps {
  metric: Compared["metrics"][number];
  value: number | null;
  place: number;
  run: Run | undefined;
  isBest: boolean;
}

function Value({ metric, value, place, run, isBest }: ValueProps) {
  const change = metric.change_percent[place];
  const headline = run?.headline?.[HEADLINES[metric.key] ?? ""];
  const show = (shown: number): string => amount(metric.key, metric.unit, shown);
  return (
    <td class={isBest ? "number winner" : "number"} title={headline?.exact === false ? "not exact" : undefined}>
      {value === null ? (
        <>
          <span class="muted">not measured</span>
          <small />
        </>
      ) : (
        <>
          {isBest && (
            <span role="img" aria-label="best">
              ★{" "}
            </span>
          )}
          {headline ? written({ ...headline, value }, show) : show(value)}
          <small>{place > 0 && typeof change === "number" ? signed(change) : ""}</small>
        </>
      )}
    </td>
  );
}

export function signed(percent: number): string {
  const size = Math.abs(percent);
  if (size < 0.05) return "same";
  return `${percent > 0 ? "+" : "−"}${size >= 1000 ? `${format.digits(size / 100)}×` : format.percent(size)}`;
}

export function Losses({ compared, runs }: { compared: Compared; runs: readonly Run[] }) {
  if (compared.loss_at_step.length === 0) return null;
  return (
    <Wide title="Loss at the same step">
      <table class="plain">
        <Head runs={runs} first="Step" />
        <tbody>
          {compared.loss_at_step.map((row) => (
            <tr key={row.step}>
              <th scope="row">{row.step.toLocaleString("en")}</th>
              {row.values.map((value, place) => (
                <td key={place} class="number">
                  {value === null ? "" : format.digits(value)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

export function Differences({ title, none, rows, runs }: { title: string; none: string; rows: Compared["config"]; runs: readonly Run[] }) {
  return (
    <Wide title={title}>
      {rows.length === 0 ? (
        <p class="muted">{none}</p>
      ) : (
        <table class="plain">
          <Head runs={runs} first="" />
          <tbody>
            {rows.map((row) => (
              <Settings key={row.path} {...row} />
            ))}
          </tbody>
        </table>
      )}
    </Wide>
  );
}

const SETTING_LETTERS = 27;

/** One setting of all runs, of long values the part that differs. */
function Settings({ path, values }: Compared["config"][number]) {
  const texts = values.map((value) => (value === null || value === undefined ? undefined : whole(value)));
  const known = [...new Set(texts.flatMap((text) => text ?? []))];
  const short = fromDifference(known, SETTING_LETTERS);
  return (
    <tr>
      <th scope="row">
        <code>{path}</code>
      </th>
      {texts.map((text, place) => (
        <td key={place} class="number" title={text}>
          <Setting text={text === undefined ? undefined : short[known.indexOf(text)]} isOther={place > 0 && text !== texts[0]} />
        </td>
      ))}
    </tr>
  );
}

function Setting({ text, isOther }: { text: string | undefined; isOther: boolean }) {
  if (text === undefined) return <span class="muted">absent</span>;
  return isOther ? <ins class="other">{text}</ins> : <code>{text}</code>;
}

function whole(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
