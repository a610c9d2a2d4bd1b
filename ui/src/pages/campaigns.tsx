// Builds region by region: how many end well, how long they wait and work, how steady they are, what they cost.
import "../style/campaign.css";
import { RegionShown } from "../campaign/region.tsx";
import * as format from "../format.ts";
import { useLoaded } from "../load.ts";
import { Empty, Failed, Skeleton } from "../parts/bits.tsx";
import { query, setQuery } from "../router.ts";
import type { Campaign, Outcome, Region } from "../types.ts";

export function Campaigns() {
  const campaign = useLoaded<Campaign>("/api/v1/campaigns");
  if (campaign.problem) return <Failed problem={campaign.problem} again={campaign.again} />;
  if (!campaign.data) return <Skeleton lines={10} />;
  const { regions } = campaign.data;
  if (regions.length === 0) {
    return (
      <>
        <h1>Campaigns</h1>
        <About />
        <Empty title="No build was recorded yet" command="jobmeter campaign record --region us-west2 --log build.log">
          <p>Give it the log of a build, for example:</p>
        </Empty>
      </>
    );
  }
  const asked = query.value.get("region");
  const chosen = regions.find((one) => one.region === asked) ?? worst(regions);
  const begun = format.epoch(campaign.data.campaign_start ?? undefined);
  return (
    <>
      <div class="title">
        <h1>Campaign</h1>
        <span class="muted">
          {campaign.data.total_builds_all_regions.toLocaleString("en")} builds
          {begun === undefined ? "" : ` since ${format.moment(begun).slice(0, 10)}`}
        </span>
      </div>
      <About />
      <Regions regions={regions} chosen={chosen} />
      {chosen && <RegionShown name={chosen.region} key={chosen.region} />}
    </>
  );
}

function About() {
  return <p class="muted about">A campaign is one build that is run again and again, in several regions: how often it ends well, how long it waits and works, and what it costs.</p>;
}

/** Where to look first: what became slower, then what fails most. */
function worst(regions: readonly Region[]): Region | undefined {
  return [...regions].sort(
    (one, other) => (other.regressions ?? 0) - (one.regressions ?? 0) || (one.success_rate ?? 101) - (other.success_rate ?? 101),
  )[0];
}

const NUMBERS = ["Builds", "Success", "Streak", "Queue", "Working", "Consistency", "Spikes", "Cost", "Trend"] as const;

function Regions({ regions, chosen }: { regions: readonly Region[]; chosen: Region | undefined }) {
  return (
    <section class="panel wide campaign" tabIndex={0} aria-label="Regions">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Region</th>
            {NUMBERS.map((title) => (
              <th key={title} scope="col" class="number">
                {title}
              </th>
            ))}
            <th scope="col">Last 20</th>
            <th scope="col">Last error</th>
          </tr>
        </thead>
        <tbody>
          {regions.map((region) => (
            <Row key={region.region} region={region} isChosen={region === chosen} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Row({ region, isChosen }: { region: Region; isChosen: boolean }) {
  const { trend_percent: trend, success_rate: rate, streak } = region;
  const seconds = (value: number | undefined): string => (value === undefined ? "" : format.seconds(value));
  return (
    <tr class={isChosen ? "is-chosen" : ""}>
      <th scope="row">
        <button type="button" class="quiet" data-row aria-pressed={isChosen} onClick={() => setQuery({ region: region.region, build: null })}>
          {region.region}
        </button>
        {region.regressions ? <span class="badge critical">{region.regressions === 1 ? "regression" : `${region.regressions} regressions`}</span> : null}
      </th>
      <td class="number">
        {(region.builds ?? 0).toLocaleString("en")}
        {region.pending ? <small class="muted"> +{region.pending} pending</small> : null}
      </td>
      <td class="number">{rate === undefined ? "" : <span class={`badge ${rate >= 90 ? "good" : rate >= 60 ? "warning" : "critical"}`}>{format.percent(rate)}</span>}</td>
      <td class="number">{streak ? `${Math.abs(streak)} ${streak > 0 ? "won" : "lost"}` : ""}</td>
      <td class="number">{seconds(region.queue_seconds)}</td>
      <td class="number">{seconds(region.working_seconds)}</td>
      <td class="number" title={region.consistency_band}>
        {region.consistency === undefined ? "" : region.consistency.toFixed(2)}
      </td>
      <td class="number">{region.spikes?.toLocaleString("en") ?? ""}</td>
      <td class="number">{region.cost_usd === undefined ? "" : `$${region.cost_usd.toFixed(2)}`}</td>
      <td class={trend !== undefined && trend > 10 ? "number slower" : "number"}>{trend === undefined ? "" : `${trend > 0 ? "+" : trend < 0 ? "−" : ""}${format.percent(Math.abs(trend))}`}</td>
      <td>
        <Outcomes outcomes={region.recent_outcomes ?? []} />
      </td>
      <td class="error" title={region.last_error}>
        {region.last_error ?? ""}
      </td>
    </tr>
  );
}

/** The last builds as small squares, oldest first; failed ones are full height, others low. */
function Outcomes({ outcomes }: { outcomes: readonly Outcome[] }) {
  const failed = outcomes.filter((one) => one === "failure").length;
  return (
    <span class="outcomes" role="img" aria-label={`${failed} of the last ${outcomes.length} failed`}>
      {outcomes.map((outcome, place) => (
        <i key={place} class={outcome} />
      ))}
    </span>
  );
}
