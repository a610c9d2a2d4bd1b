// A run's page before anything of it is here: everything where it will stand, so that nothing jumps.
import { Skeleton } from "../parts/bits.tsx";

export function Waiting() {
  return (
    <div class="waiting" aria-busy="true" aria-label="Loading">
      <div class="skeleton" aria-hidden="true">
        <span class="name" />
        <span />
      </div>
      <section class="panel summary">
        <h2>Performance Analysis</h2>
        <div class="halves">
          <div>
            <div class="skeleton verdict" aria-hidden="true">
              <span />
              <span />
            </div>
            <div class="figures skeleton" aria-hidden="true">
              {[0, 1, 2, 3].map((place) => (
                <span key={place} />
              ))}
            </div>
          </div>
          <div class="changes">
            <h3>What to change</h3>
            <Skeleton lines={4} />
          </div>
        </div>
      </section>
      <div class="columns">
        {[0, 1, 2, 3].map((place) => (
          <div class="chart" key={place}>
            <Skeleton lines={7} />
          </div>
        ))}
      </div>
    </div>
  );
}
