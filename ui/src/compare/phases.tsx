// The phases of every run as bars: how long each lasted, and at which level.
import * as format from "../format.ts";
import { wholeNameOf } from "../parts/run_columns.tsx";
import type { Compared, Run } from "../types.ts";
import { namesOf } from "./names.ts";
import { Dot } from "./table.tsx";

type Phases = Compared["phases"][number];

export function PhaseBars({ phases, runs }: { phases: readonly Phases[]; runs: readonly Run[] }) {
  if (phases.length === 0) return null;
  return (
    <section class="panel compared" aria-label="Phases">
      <h2>Phases</h2>
      {phases.map((one) => (
        <Resource key={one.resource} phases={one} runs={runs} />
      ))}
    </section>
  );
}

function Resource({ phases, runs }: { phases: Phases; runs: readonly Run[] }) {
  const longest = Math.max(...phases.runs.map((run) => run.reduce((sum, phase) => sum + phase.seconds, 0)));
  const highest = Math.max(...phases.runs.flat().map((phase) => phase.level));
  const names = namesOf(runs);
  return (
    <div class="phased">
      <h3>{phases.resource}</h3>
      {phases.runs.map((parts, place) => {
        const run = runs[place];
        if (!run) return null;
        return (
          <div class="phase-row" key={run.run_id}>
            <span class="phase-name" title={wholeNameOf(run)}>
              <Dot place={place} /> {names[place]}
            </span>
            <ol class="phase-bar">
              {parts.map((phase, at) => (
                <li
                  key={at}
                  title={`${phase.shown} for ${format.seconds(phase.seconds)}`}
                  style={{ width: `${(100 * phase.seconds) / longest}%`, "--level": `${highest ? Math.round((100 * phase.level) / highest) : 0}%` }}
                >
                  <span>
                    {phase.shown} <small>{format.seconds(phase.seconds)}</small>
                  </span>
                </li>
              ))}
            </ol>
          </div>
        );
      })}
    </div>
  );
}
