// Numbers of all runs with the best marked and the difference to the first; settings and surroundings that are not the same.
import type { ComponentChildren } from "preact";
import * as format from "../format.ts";
import { setQuery } from "../router.ts";
import { colour } from "../theme.ts";
import type { Compared, Run } from "../types.ts";
import { namesOf } from "./names.ts";
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
          <th key={runs[place]?.run_id} scope="col" class="number" title={name}>
            <Dot place={place} /> {name}
          </th>
        ))}
      </tr>
    </thead>
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
          {rows.map((metric) => (
            <tr key={metric.key}>
              <th scope="row">{WORDS[metric.key] ?? metric.key}</th>
              {metric.values.map((value, place) => (
                <Value key={place} metric={metric} value={value} place={place} isBest={metric.winner === compared.runs[place]} />
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
  isBest: boolean;
}

function Value({ metric, value, place, isBest }: ValueProps) {
  const change = metric.change_percent[place];
  return (
    <td class={isBest ? "number winner" : "number"}>
      {value === null ? (
        <span class="muted">not measured</span>
      ) : (
        <>
          {isBest && (
            <span role="img" aria-label="best">
              ★{" "}
            </span>
          )}
          {amount(metric.key, metric.unit, value)}
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
              <tr key={row.path}>
                <th scope="row">
                  <code>{row.path}</code>
                </th>
                {row.values.map((value, place) => (
                  <td key={place} class="number" title={value === null ? undefined : whole(value)}>
                    <Setting value={value} isOther={place > 0 && whole(value) !== whole(row.values[0])} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Wide>
  );
}

function Setting({ value, isOther }: { value: unknown; isOther: boolean }) {
  if (value === null || value === undefined) return <span class="muted">absent</span>;
  const text = whole(value);
  const short = text.length > 40 ? `${text.slice(0, 37)}…` : text;
  return isOther ? <ins class="other">{short}</ins> : <code>{short}</code>;
}

function whole(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
