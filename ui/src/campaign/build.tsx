// One build: what its machine did from sample to sample, with spikes marked.
import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { Chart, type Mark, type Range } from "../chart/chart.tsx";
import type { Drawn } from "../chart/lines.ts";
import * as format from "../format.ts";
import { setQuery } from "../router.ts";
import type { Build, BuildPoint, Spike } from "../types.ts";

const GIB = 2 ** 30;

export function BuildShown({ build, point }: { build: Build; point: BuildPoint | undefined }) {
  const range = useMemo(() => signal<Range | null>(null), [build.build_id]);
  const times = (build.resource_samples ?? []).map((sample) => format.epoch(sample.ts));
  const samples = (build.resource_samples ?? []).flatMap((sample, place) => {
    const at = times[place];
    return at === undefined ? [] : [{ ...sample, at }];
  });
  const start = samples[0]?.at ?? 0;
  const line = (label: string, hue: number, of: (sample: (typeof samples)[number]) => number | undefined): Drawn => ({
    label,
    hue,
    x: samples.map((sample) => sample.at - start),
    y: samples.map((sample) => of(sample) ?? null),
  });
  const spikes = build.anomalies?.spikes ?? [];
  const marks = (type: Spike["type"]): Mark[] =>
    spikes.flatMap((spike) => {
      const at = times[spike.sample_index]; // samples without a time are counted too
      return spike.type === type && at !== undefined ? [{ x: at - start, label: said(spike), isBad: spike.severity === "HIGH" }] : [];
    });
  const common = { axis: "relative", axisName: "seconds", showX: format.seconds, range, least: 0 } as const;
  return (
    <section class="panel build-shown" aria-label="Build">
      <div class="title">
        <h2>Build {build.build_id}</h2>
        {point && <span class={`badge ${point.outcome === "success" ? "good" : point.outcome === "failure" ? "critical" : ""}`}>{point.outcome}</span>}
        <span class="grow" />
        <button type="button" class="quiet" onClick={() => setQuery({ build: null })}>
          Close
        </button>
      </div>
      {point?.error && <p>{point.error}</p>}
      {samples.length === 0 ? (
        <p class="muted">
          It was not sampled. <code>jobmeter run --build-stats -- COMMAND</code> within the build samples it once a minute.
        </p>
      ) : (
        <div class="columns">
          <Chart {...common} title="CPU" method={`${samples.length} samples of the host`} lines={[line("CPU", 0, (one) => one.cpu)]} show={format.percent} marks={marks("cpu")} />
          <Chart
            {...common}
            title="Memory"
            method={`${samples.length} samples of the host`}
            lines={[line("memory", 1, (one) => (one.mem_used_gb === undefined ? undefined : one.mem_used_gb * GIB))]}
            show={format.bytes}
            isBytes
            marks={marks("memory")}
          />
        </div>
      )}
      {spikes.length > 0 && (
        <ul class="build-spikes" aria-label="Spikes">
          {spikes.map((spike, place) => (
            <li key={place}>
              <span class={`badge ${spike.severity === "HIGH" ? "critical" : spike.severity === "MEDIUM" ? "warning" : ""}`}>{(spike.severity ?? "").toLowerCase()}</span> {said(spike)}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function said(spike: Spike): string {
  const show = spike.type === "cpu" ? format.percent : (value: number): string => format.bytes(value * GIB);
  return `${spike.type === "cpu" ? "CPU" : "memory"} from ${show(spike.from_value)} to ${show(spike.to_value)} at sample ${spike.sample_index + 1}`;
}
