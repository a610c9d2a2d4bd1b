// The builds of a region one after another, as bars: how long they waited and worked, which failed, where they became slower.
import { useEffect, useRef } from "preact/hooks";
import * as format from "../format.ts";
import { setQuery } from "../router.ts";
import type { BuildPoint } from "../types.ts";

interface Part {
  name: string;
  of: (build: BuildPoint) => number | undefined;
  /** Which of the two tones it is drawn in. */
  tone: "main" | "soft";
}

interface BarsProps {
  title: string;
  note?: string;
  history: readonly BuildPoint[];
  parts: readonly Part[];
  show: (value: number) => string;
  /** The end of the scale, where it is known beforehand. */
  most?: number;
  chosen: string | null;
}

export function Bars({ title, note, history, parts, show, most, chosen }: BarsProps) {
  const totals = history.map((build) => parts.reduce((sum, part) => sum + (part.of(build) ?? 0), 0));
  const top = most ?? Math.max(...totals);
  const list = useRef<HTMLOListElement>(null);
  // where they do not fit beside one another, the last builds are in sight
  useEffect(() => void list.current?.scrollTo({ left: list.current.scrollWidth }), [history]);
  const isKnown = history.some((build) => parts.some((part) => part.of(build) !== undefined));
  if (!isKnown || !(top > 0)) return null;
  return (
    <figure class="chart buildbars">
      <figcaption>
        <span class="chart-title">{title}</span>
        {note && <span class="method">{note}</span>}
      </figcaption>
      {parts.length > 1 && (
        <ul class="legend">
          {parts.map((part) => (
            <li key={part.name}>
              <i class={part.tone} />
              {part.name}
            </li>
          ))}
        </ul>
      )}
      <div class="buildbars-plot">
        <div class="buildbars-scale muted" aria-hidden="true">
          <span>{show(top)}</span>
          <span>0</span>
        </div>
        <ol ref={list}>
          {history.map((build, place) => (
            <Bar key={place} build={build} number={place + 1} parts={parts} top={top} show={show} isChosen={chosen !== null && chosen === build.build_id} />
          ))}
        </ol>
      </div>
    </figure>
  );
}

interface BarProps {
  build: BuildPoint;
  number: number;
  parts: readonly Part[];
  top: number;
  show: (value: number) => string;
  isChosen: boolean;
}

function Bar({ build, number, parts, top, show, isChosen }: BarProps) {
  const said = [
    `build ${build.build_id ?? number}: ${build.outcome}`,
    ...parts.flatMap((part) => {
      const value = part.of(build);
      return value === undefined ? [] : `${part.name} ${show(value)}`;
    }),
    ...(build.change ? [changed(build)] : []),
  ].join(", ");
  const kind = `buildbar ${build.outcome}${build.change ? ` ${build.change}` : ""}${isChosen ? " is-chosen" : ""}`;
  return (
    <li class={kind}>
      <button type="button" title={said} aria-label={said} aria-pressed={isChosen} onClick={() => setQuery({ build: isChosen ? null : (build.build_id ?? null) })}>
        {[...parts].reverse().map((part) => {
          const value = part.of(build);
          return value === undefined ? null : <i key={part.name} class={part.tone} style={{ height: `${(100 * Math.min(value, top)) / top}%` }} />;
        })}
      </button>
    </li>
  );
}

export function changed(build: BuildPoint): string {
  return `${format.percent(Math.abs(build.change_percent ?? 0))} ${build.change} from here on`;
}
