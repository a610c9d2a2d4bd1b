// Builds region by region: how many end well, how long they wait and work, how steady they are, what they cost.
import * as format from "../format.ts";
import { useLoaded } from "../load.ts";
import { Empty, Failed, Skeleton } from "../parts/bits.tsx";
import type { Campaign, Region } from "../types.ts";

export function Campaigns() {
  const campaign = useLoaded<Campaign>("/api/v1/campaigns");
  if (campaign.problem) return <Failed problem={campaign.problem} again={campaign.again} />;
  if (!campaign.data) return <Skeleton lines={8} />;
  if (campaign.data.regions.length === 0) {
    return (
      <Empty title="No build was recorded yet" command="jobmeter campaign record --build-id ID --region us-west2 --log build.log">
        <p>Every build of a campaign is kept by region: how it ended, what it used, how steady it was.</p>
      </Empty>
    );
  }
  return (
    <>
      <div class="title">
        <h1>Campaign</h1>
        <span class="muted">{campaign.data.total_builds_all_regions.toLocaleString("en")} builds in all regions</span>
      </div>
      <section class="panel wide">
        <table class="plain">
          <thead>
            <tr>
              <th>Region</th>
              {["Builds", "Success", "Streak", "Queue", "Working", "Steadiness", "Spikes", "Cost", "Trend"].map((title) => (
                <th key={title} class="number">
                  {title}
                </th>
              ))}
              <th>Last error</th>
            </tr>
          </thead>
          <tbody>
            {campaign.data.regions.map((region) => (
              <Row key={region.region} region={region} />
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}

function Row({ region }: { region: Region }) {
  const { trend_percent: trend, success_rate: rate } = region;
  return (
    <tr>
      <td>{region.region}</td>
      <td class="number">
        {region.builds ?? 0}
        {region.pending ? <span class="muted"> +{region.pending} pending</span> : null}
      </td>
      <td class="number">{rate === undefined ? "" : <span class={`badge ${rate >= 90 ? "good" : rate >= 60 ? "warning" : "critical"}`}>{format.percent(rate)}</span>}</td>
      <td class="number">{region.streak ?? ""}</td>
      <td class="number">{region.queue_seconds === undefined ? "" : format.seconds(region.queue_seconds)}</td>
      <td class="number">{region.working_seconds === undefined ? "" : format.seconds(region.working_seconds)}</td>
      <td class="number">{region.consistency === undefined ? "" : `${format.digits(region.consistency)} ${region.consistency_band ?? ""}`}</td>
      <td class="number">{region.spikes ?? ""}</td>
      <td class="number">{region.cost_usd === undefined ? "" : `$${region.cost_usd.toFixed(2)}`}</td>
      <td class="number">{trend === undefined ? "" : `${trend > 0 ? "+" : ""}${format.digits(trend)} %`}</td>
      <td class="error" title={region.last_error}>
        {region.last_error ?? ""}
      </td>
    </tr>
  );
}
