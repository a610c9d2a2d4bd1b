// What fires now, the gravest first, with a way to be left in peace for an hour.
import { useEffect, useRef, useState } from "preact/hooks";
import { asProblem, send } from "../api.ts";
import * as format from "../format.ts";
import { useLoaded, type Loaded } from "../load.ts";
import { Failed, sentence } from "../parts/bits.tsx";
import { tell } from "../parts/overlays.tsx";
import type { Alert, AlertsTold, Level, Silence } from "../types.ts";

const QUIET_SECONDS = 3600;
const HOME = "@home";
const ORDER: readonly Level[] = ["critical", "warning", "info"];

export interface Watched {
  alerts: Loaded<AlertsTold>;
  silences: Loaded<{ silences: Silence[] }>;
  again: () => void;
}

export function useAlerts(): Watched {
  const alerts = useLoaded<AlertsTold>("/api/v1/alerts", { state: "firing" });
  const silences = useLoaded<{ silences: Silence[] }>("/api/v1/alerts/silences");
  const again = (): void => {
    alerts.again();
    silences.again();
  };
  return { alerts, silences, again };
}

export function Alerts({ watched, now }: { watched: Watched; now: number }) {
  const { alerts: loaded, silences, again } = watched;
  if (loaded.problem && !loaded.data) return <Failed problem={loaded.problem} again={again} />;
  const alerts = [...(loaded.data?.alerts ?? [])].sort((one, other) => ORDER.indexOf(one.severity) - ORDER.indexOf(other.severity));
  return (
    <>
      <Announced alerts={alerts} isKnown={loaded.data !== undefined} />
      {alerts.length > 0 && <Firing alerts={alerts} holding={(silences.data?.silences ?? []).filter((one) => one.active)} now={now} again={again} />}
    </>
  );
}

interface FiringProps {
  alerts: readonly Alert[];
  holding: readonly Silence[];
  now: number;
  again: () => void;
}

function Firing({ alerts, holding, now, again }: FiringProps) {
  return (
    <section class="panel alerts" aria-label="Alerts">
      <h2>
        {alerts.length} alert{alerts.length === 1 ? "" : "s"}
      </h2>
      <ul>
        {alerts.map((alert) => (
          <Row
            key={keyOf(alert)}
            alert={alert}
            now={now}
            silence={holding.find((one) => one.where === about(alert) && one.rules.includes(alert.rule))}
            again={again}
          />
        ))}
      </ul>
      {holding.length > 0 && (
        <p class="muted">
          {holding.length === 1 ? "A silence holds" : `${holding.length} silences hold`}: <code>jobmeter alerts silences</code> lists them.
        </p>
      )}
    </section>
  );
}

const keyOf = (alert: Alert): string => `${alert.rule} ${alert.run_id} ${alert.instance ?? ""}`;

/** What fires since the page was opened, for whoever does not see it come. */
function Announced({ alerts, isKnown }: { alerts: readonly Alert[]; isKnown: boolean }) {
  const known = useRef<ReadonlySet<string> | undefined>(undefined);
  const [said, setSaid] = useState("");
  const told = alerts.filter((alert) => !alert.silenced_by);
  useEffect(() => {
    if (!isKnown) return;
    const before = known.current;
    known.current = new Set(told.map(keyOf));
    const fresh = before ? told.filter((alert) => !before.has(keyOf(alert))) : [];
    if (fresh.length) setSaid(fresh.map((alert) => sentence(`${alert.severity}: ${alert.sentence}`)).join(" "));
  }, [isKnown, told.map(keyOf).join("\n")]);
  return (
    <p class="unseen" role="status">
      {said}
    </p>
  );
}

/** The runs that an alert is about, as a filter. */
function about(alert: Alert): string {
  return alert.run_id === HOME ? "" : `id="${alert.run_id}"`;
}

interface RowProps {
  alert: Alert;
  now: number;
  silence: Silence | undefined;
  again: () => void;
}

function Row({ alert, now, silence, again }: RowProps) {
  const since = format.epoch(alert.fired_at ?? alert.since);
  const isOfRun = alert.run_id !== HOME;
  return (
    <li data-row tabIndex={-1}>
      <span class={`badge ${alert.severity}`}>{alert.severity}</span>
      <span class="said">
        {sentence(alert.sentence)}
        <small class="muted">
          {alert.rule}
          {alert.instance ? `, ${alert.instance}` : ""}
          {since === undefined ? "" : `, ${format.ago(since, now)}`}
        </small>
      </span>
      {isOfRun && <a href={`/jobs/${encodeURIComponent(alert.run_id)}`}>open run</a>}
      {(silence || alert.silenced_by) && <span class="badge">silenced</span>}
      {silence && (
        <button type="button" onClick={() => void end(silence.id, again)}>
          Tell again
        </button>
      )}
      {!silence && !alert.silenced_by && (
        <button type="button" onClick={() => void hush(alert, again)} title="note it, but tell nobody for an hour">
          Silence 1 h
        </button>
      )}
    </li>
  );
}

async function hush(alert: Alert, again: () => void): Promise<void> {
  try {
    const made = await send<Silence>("POST", "/api/v1/alerts/silences", { where: about(alert), rules: [alert.rule], seconds: QUIET_SECONDS });
    tell({ text: `Nobody is told of ${alert.rule} for an hour`, undo: () => void end(made.id, again) });
  } catch (problem) {
    refuse(problem);
  }
  again();
}

async function end(id: string, again: () => void): Promise<void> {
  try {
    await send("DELETE", `/api/v1/alerts/silences/${encodeURIComponent(id)}`);
  } catch (problem) {
    refuse(problem);
  }
  again();
}

function refuse(problem: unknown): void {
  const told = asProblem(problem);
  tell({ text: [told.message, told.hint].filter(Boolean).map(sentence).join(" ") });
}
