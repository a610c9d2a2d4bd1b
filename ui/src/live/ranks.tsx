// The ranks of a job as a map: one cell a rank, the darker the more; those that are behind stand out, and are listed first.
import * as format from "../format.ts";
import { query, setQuery } from "../router.ts";
import type { Rank, Ranks } from "../ranks.ts";

interface Measure {
  name: string;
  title: string;
  of: (rank: Rank) => number | undefined;
  show: (value: number) => string;
}

const MEASURES: readonly Measure[] = [
  { name: "pace", title: "time per step", of: (rank) => rank.step_seconds, show: format.seconds },
  { name: "behind", title: "steps behind", of: (rank) => rank.behind, show: format.digits },
  { name: "memory", title: "memory peak", of: (rank) => rank.memory_peak_bytes, show: format.bytes },
  { name: "cpu", title: "CPU time", of: (rank) => rank.cpu_seconds, show: format.seconds },
  { name: "gpu", title: "GPU utilisation", of: (rank) => rank.gpu_util_percent, show: format.percent },
  { name: "gpu-memory", title: "GPU memory peak", of: (rank) => rank.gpu_memory_peak_bytes, show: format.bytes },
];
/** More cells than that show no number. */
const MOST_LABELLED = 256;

export function RankMap({ told }: { told: Ranks }) {
  const known = MEASURES.filter((measure) => told.ranks.some((rank) => measure.of(rank) !== undefined));
  const measure = known.find((one) => one.name === query.value.get("by")) ?? known[0];
  if (!measure) return null;
  const values = told.ranks.flatMap((rank) => measure.of(rank) ?? []);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const size = told.ranks.length + told.ranks_missing.length;
  const missing = new Set(told.ranks_missing);
  const byRank = new Map(told.ranks.map((rank) => [rank.rank, rank]));
  const places = [...byRank.keys(), ...missing].sort((one, other) => one - other);
  return (
    <div class="rankmap">
      <div class="rankmap-head">
        <label class="muted">
          Ranks by{" "}
          <select value={measure.name} onChange={(event) => setQuery({ by: event.currentTarget.value === known[0]?.name ? null : event.currentTarget.value })}>
            {known.map((one) => (
              <option key={one.name} value={one.name}>
                {one.title}
              </option>
            ))}
          </select>
        </label>
        <span class="rankscale muted" aria-hidden="true">
          {measure.show(low)}
          <i />
          {measure.show(high)}
        </span>
      </div>
      <ol class={size > MOST_LABELLED ? "rankcells dense" : "rankcells"} aria-label={`ranks by ${measure.title}`}>
        {places.map((place) => {
          const rank = byRank.get(place);
          return <Cell key={place} place={place} rank={rank} measure={measure} low={low} high={high} />;
        })}
      </ol>
    </div>
  );
}

interface CellProps {
  place: number;
  rank: Rank | undefined;
  measure: Measure;
  low: number;
  high: number;
}

function Cell({ place, rank, measure, low, high }: CellProps) {
  if (!rank) {
    return (
      <li class="rankcell missing" title={`rank ${place} was never seen`}>
        <span>{place}</span>
      </li>
    );
  }
  const value = measure.of(rank);
  const heat = value === undefined || high === low ? 0 : (value - low) / (high - low);
  const kind = `rankcell${rank.straggler ? " straggler" : ""}${value === undefined ? " unmeasured" : ""}`;
  const said = `rank ${place}${rank.host ? ` on ${rank.host}` : ""}: ${value === undefined ? "not measured" : `${measure.title} ${measure.show(value)}`}${rank.straggler ? ", straggler" : ""}`;
  return (
    <li class={kind} style={{ "--heat": `${Math.round(heat * 100)}%` }}>
      <a href={`/jobs/${encodeURIComponent(rank.run_id)}`} title={said} aria-label={said}>
        {place}
      </a>
    </li>
  );
}

export function Stragglers({ told }: { told: Ranks }) {
  const slow = told.ranks.filter((rank) => rank.straggler).sort((one, other) => (other.relative ?? 0) - (one.relative ?? 0));
  if (slow.length === 0 && told.ranks_missing.length === 0) return null;
  return (
    <ul class="straggling" aria-label="Ranks to look at">
      {slow.map((rank) => (
        <li key={rank.rank}>
          <span class="badge warning">straggler</span> <a href={`/jobs/${encodeURIComponent(rank.run_id)}`}>rank {rank.rank}</a>
          <span class="muted">
            {[
              rank.host,
              rank.relative === undefined ? "" : `${format.digits(rank.relative)}× the middle rank's time per step`,
              rank.behind ? `${rank.behind.toLocaleString("en")} steps behind` : "",
            ]
              .filter(Boolean)
              .join(", ")}
          </span>
        </li>
      ))}
      {told.ranks_missing.length > 0 && (
        <li>
          <span class="badge critical">missing</span>
          <span class="muted">
            {told.ranks_missing.length === 1 ? "rank" : "ranks"} {shortened(told.ranks_missing)} of {told.world_size} never seen
          </span>
        </li>
      )}
    </ul>
  );
}

/** 0-2, 5: neighbours as one, and no more than people read. */
function shortened(ranks: readonly number[]): string {
  const spans: [number, number][] = [];
  for (const rank of ranks) {
    const last = spans.at(-1);
    if (last && last[1] === rank - 1) last[1] = rank;
    else spans.push([rank, rank]);
  }
  const said = spans.slice(0, 6).map(([from, to]) => (from === to ? String(from) : `${from}-${to}`));
  return said.join(", ") + (spans.length > 6 ? ", …" : "");
}
