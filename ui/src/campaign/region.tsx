// One region: how its builds went, and one of them in full.
import * as format from "../format.ts";
import { useLoaded } from "../load.ts";
import { Failed, Skeleton } from "../parts/bits.tsx";
import { query } from "../router.ts";
import type { BuildPoint, RegionBuilds } from "../types.ts";
import { BuildShown } from "./build.tsx";
import { Bars, changed } from "./history.tsx";

const dollars = (value: number): string => `$${value.toFixed(2)}`;

export function RegionShown({ name }: { name: string }) {
  const loaded = useLoaded<RegionBuilds>(`/api/v1/campaigns/${encodeURIComponent(name)}`);
  if (loaded.problem) return <Failed problem={loaded.problem} again={loaded.again} />;
  if (!loaded.data) return <Skeleton lines={10} />;
  const { history, builds } = loaded.data;
  const chosen = query.value.get("build");
  const build = chosen === null ? undefined : builds.find((one) => one.build_id === chosen);
  const common = { history, chosen };
  return (
    <section aria-label={`Region ${name}`} class="region-shown">
      <h2>
        {name} <span class="muted">the last {history.length} builds, oldest first</span>
      </h2>
      <Changes history={history} />
      <div class="columns">
        <Bars
          {...common}
          title="Queue and working time"
          parts={[
            { name: "working", of: (one) => one.working_seconds, tone: "main" },
            { name: "in the queue", of: (one) => one.queue_seconds, tone: "soft" },
          ]}
          show={format.seconds}
        />
        <Bars {...common} title="Success" note="of the last 10 that ended" parts={[{ name: "success", of: (one) => one.success_rate, tone: "main" }]} show={format.percent} most={100} />
        <Bars {...common} title="Consistency" note="1 is as steady as can be" parts={[{ name: "score", of: (one) => one.consistency, tone: "main" }]} show={format.digits} most={1} />
        <Bars {...common} title="Spikes" note="of CPU and memory, by sample" parts={[{ name: "spikes", of: (one) => one.spikes, tone: "main" }]} show={format.digits} />
        <Bars {...common} title="Cost" note="hours at work times the price" parts={[{ name: "cost", of: (one) => one.cost_usd, tone: "main" }]} show={dollars} />
      </div>
      {build ? (
        <BuildShown build={build} point={history.find((one) => one.build_id === chosen)} />
      ) : (
        <p class="muted">A bar is a build: choose one for its samples and spikes.</p>
      )}
    </section>
  );
}

function Changes({ history }: { history: readonly BuildPoint[] }) {
  const found = history.filter((build) => build.change);
  if (found.length === 0) return null;
  return (
    <ul class="build-changes" aria-label="Changes of speed">
      {found.map((build, place) => {
        const at = format.epoch(build.timestamp);
        return (
          <li key={place}>
            <span class={`badge ${build.change === "slower" ? "critical" : "good"}`}>{build.change === "slower" ? "regression" : "improvement"}</span>{" "}
            {changed(build)}: build {build.build_id ?? ""} <span class="muted">{at === undefined ? "" : format.moment(at).slice(0, 16)}</span>
          </li>
        );
      })}
    </ul>
  );
}
