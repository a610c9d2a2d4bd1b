// The ranks of a distributed job side by side: who is slow, who is behind, who holds most, who never came.
import * as format from "../format.ts";
import { useLoaded } from "../load.ts";
import { Skeleton, StatusBadge } from "../parts/bits.tsx";
import type { RunShown } from "../types.ts";
import type { Rank, Ranks as Found } from "../ranks.ts";

interface Column {
  title: string;
  about?: string;
  show: (rank: Rank) => string | undefined;
}

const optional = <T,>(value: T | undefined, show: (value: T) => string): string | undefined => (value === undefined ? undefined : show(value));

const COLUMNS: readonly Column[] = [
  { title: "Last step", show: (rank) => optional(rank.last_step, (step) => step.toLocaleString("en")) },
  { title: "Behind", about: "steps behind the foremost rank", show: (rank) => (rank.behind ? rank.behind.toLocaleString("en") : undefined) },
  { title: "A step", about: "the middle of what its steps took", show: (rank) => optional(rank.step_seconds, format.seconds) },
  { title: "Against all", about: "its time a step against the middle of all ranks", show: (rank) => optional(rank.relative, (times) => `${times.toFixed(2)} ×`) },
  { title: "Slowest in", about: "share of the steps in which it was the slowest", show: (rank) => optional(rank.slowest_share, (share) => format.percent(share * 100)) },
  { title: "CPU time", show: (rank) => optional(rank.cpu_seconds, format.seconds) },
  { title: "Peak memory", show: (rank) => optional(rank.memory_peak_bytes, format.bytes) },
  { title: "GPU", show: (rank) => optional(rank.gpu_util_percent, format.percent) },
  { title: "GPU memory", show: (rank) => optional(rank.gpu_memory_peak_bytes, format.bytes) },
];

export const hasRanks = (run: RunShown): boolean => (run.ranks?.length ?? 0) > 1 || (run.world_size ?? 1) > 1;

export function Ranks({ run, at }: { run: RunShown; at: string }) {
  const found = useLoaded<Found>(`${at}/ranks`, {}, `${run.samples} ${run.status}`);
  if (found.problem && !found.data) return null;
  return (
    <section class="panel" aria-label="Ranks">
      <h2>Ranks</h2>
      {found.data ? <Table found={found.data} own={run.run_id} /> : <Skeleton lines={5} />}
    </section>
  );
}

function Table({ found, own }: { found: Found; own: string }) {
  const columns = COLUMNS.filter((column) => found.ranks.some((rank) => column.show(rank) !== undefined));
  const heaviest = most(found.ranks, (rank) => rank.memory_peak_bytes);
  return (
    <>
      <p class="muted">{told(found)}</p>
      <div class="scrolls" tabIndex={0} role="group" aria-label="Table of ranks">
        <table class="plain">
          <thead>
            <tr>
              <th class="number">Rank</th>
              <th>Host</th>
              {columns.map((column) => (
                <th key={column.title} class="number" title={column.about}>
                  {column.title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {found.ranks.map((rank) => (
              <tr key={rank.rank} class={rank.straggler ? "marked" : ""}>
                <td class="number">{rank.run_id === own ? rank.rank : <a href={`/jobs/${encodeURIComponent(rank.run_id)}`}>{rank.rank}</a>}</td>
                <td class="marks">
                  {rank.host ?? ""} {rank.straggler && <span class="badge warning">straggler</span>}
                  {rank.rank === heaviest && <span class="badge">most memory</span>}
                  {rank.status !== "completed" && <StatusBadge status={rank.status} />}
                </td>
                {columns.map((column) => (
                  <td key={column.title} class="number">
                    {column.show(rank) ?? ""}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** The rank that stands out by a number: a tenth above the next. */
function most(ranks: readonly Rank[], of: (rank: Rank) => number | undefined): number | undefined {
  const sorted = ranks.filter((rank) => of(rank) !== undefined).sort((one, other) => (of(other) ?? 0) - (of(one) ?? 0));
  const [first, second] = sorted;
  return first && second && (of(first) ?? 0) > 1.1 * (of(second) ?? 0) ? first.rank : undefined;
}

function told(found: Found): string {
  const parts = [`${found.ranks.length} of ${found.world_size ?? found.ranks.length} ranks seen`];
  if (found.ranks_missing.length > 0) parts.push(`never seen: ${found.ranks_missing.join(", ")}`);
  parts.push(found.stragglers.length > 0 ? `slower than the others: ${found.stragglers.join(", ")}` : "none is much slower than the others");
  const uneven = found.imbalance?.memory;
  if (uneven !== undefined) parts.push(`the largest holds ${format.percent(uneven * 100)} more memory than the mean`);
  for (const [name, added] of Object.entries(found.throughput ?? {})) parts.push(`${format.digits(added.value)} ${name.replaceAll("_", " ")} in all`);
  return `${parts.join("; ")}.`;
}
