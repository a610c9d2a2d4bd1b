// What holds for all graphs of a run: what the axis counts, how smooth, which scale, and the way back from a part.
import type { Signal } from "@preact/signals";
import type { Range } from "../chart/chart.tsx";
import { query, setQuery } from "../router.ts";

interface Given {
  hasSteps: boolean;
  smoothing: number;
  setSmoothing: (weight: number) => void;
  isLog: boolean;
  range: Signal<Range | null>;
}

export function Controls({ hasSteps, smoothing, setSmoothing, isLog, range }: Given) {
  const wanted = query.value.get("x") ?? (hasSteps ? "" : "relative");
  return (
    <div class="search graphs">
      <label>
        Along{" "}
        <select value={wanted} onChange={(event) => setQuery({ x: event.currentTarget.value || null })}>
          {hasSteps && <option value="">steps and time</option>}
          <option value="relative">time since the start</option>
          <option value="wall">time of day</option>
          {hasSteps && <option value="step">steps</option>}
        </select>
      </label>
      <label>
        Smoothing{" "}
        <input
          type="range"
          min="0"
          max="0.99"
          step="0.01"
          value={smoothing}
          onInput={(event) => setSmoothing(Number(event.currentTarget.value))}
        />
        <output>{smoothing ? smoothing.toFixed(2) : "off"}</output>
      </label>
      <label>
        <input type="checkbox" checked={isLog} onChange={() => setQuery({ log: isLog ? null : "1" })} /> logarithmic
      </label>
      <span class="grow" />
      <span class="hint">{range.value ? "" : "drag to zoom, Shift+drag to move along, click to see the output of then"}</span>
      {range.value && (
        <button type="button" onClick={() => (range.value = null)}>
          Show the whole run
        </button>
      )}
    </div>
  );
}
