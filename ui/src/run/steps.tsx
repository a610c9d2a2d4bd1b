// Every step that a training logged, however many: rows exist while they are in sight, and are fetched by the piece.
// Pieces are what the server made of the steps for a coarse line: it says how many steps each holds, so every row has
// a place before it is known.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, isSaved } from "../api.ts";
import * as format from "../format.ts";
import { useLoaded } from "../load.ts";
import { Skeleton } from "../parts/bits.tsx";
import type { Curve, Curves, RunShown } from "../types.ts";
import { bestOf, type Best, longest, MOST_ROWS, pieces, type Piece, placeOf, rowsOf, type StepRow } from "./step_rows.ts";

const ROW_PIXELS = 26;
const IN_SIGHT = 12;
const SPARE_ROWS = 20;
const MOST_COLUMNS = 8;
/** Browsers lay nothing out below that: where the rows are taller together, one pixel of the scroll bar is more than one. */
const TALLEST_PIXELS = 12_000_000;

export function Steps({ run, at }: { run: RunShown; at: string }) {
  const coarse = useLoaded<Curves>(`${at}/steps`, { points: 1000 }, `${run.steps?.count} ${run.status}`);
  const [rank, setRank] = useState<number>();
  const ranks = useMemo(() => [...new Set((coarse.data?.series ?? []).map((curve) => curve.rank))].sort((one, other) => one - other), [coarse.data]);
  const chosen = rank ?? ranks[0] ?? 0;
  const all = useMemo(() => curvesOf(coarse.data, chosen).map((curve) => (isSaved() ? alone(curve) : curve)), [coarse.data, chosen]);
  const [isWhole, setWhole] = useState(false);
  const curves = useMemo(() => (isWhole ? all : most(all)), [all, isWhole]);
  if (!coarse.data && coarse.problem) return null;
  return (
    <section class="panel" aria-label="Steps">
      <div class="title">
        <h2>Steps</h2>
        {ranks.length > 1 && (
          <label>
            Rank{" "}
            <select value={chosen} onChange={(event) => setRank(Number(event.currentTarget.value))}>
              {ranks.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </label>
        )}
        {all.length > MOST_COLUMNS && (
          <button type="button" class="quiet" aria-pressed={isWhole} onClick={() => setWhole(!isWhole)}>
            {isWhole ? "fewer metrics" : `${all.length - MOST_COLUMNS} more metrics`}
          </button>
        )}
      </div>
      {curves.length > 0 ? <Rows key={chosen} at={at} rank={chosen} curves={curves} logged={run.steps?.count ?? 0} /> : <Skeleton lines={8} />}
    </section>
  );
}

const count = (curve: Curve): number => curve.n.reduce((sum, one) => sum + one, 0);
const order = (name: string): number => (/loss/i.test(name) ? 0 : 1);

/** As many metrics as fit beside one another: those that were logged most often, losses among them. */
function most(curves: readonly Curve[]): readonly Curve[] {
  const often = curves.toSorted((one, other) => count(other) - count(one) || order(one.metric) - order(other.metric));
  const kept = new Set(often.slice(0, MOST_COLUMNS));
  return curves.filter((curve) => kept.has(curve));
}

/** One source a rank: the one with most steps; its metrics with losses first. */
function curvesOf(found: Curves | undefined, rank: number): Curve[] {
  const own = (found?.series ?? []).filter((curve) => curve.rank === rank);
  const longest = own.toSorted((one, other) => count(other) - count(one))[0];
  return own
    .filter((curve) => curve.source === longest?.source)
    .sort((one, other) => order(one.metric) - order(other.metric));
}

/** A report keeps the last step of each stretch: its rows are those, since nobody can be asked for the others. */
function alone(curve: Curve): Curve {
  return { ...curve, first_step: curve.step, n: curve.n.map(() => 1) };
}

function Rows({ at, rank, curves, logged }: { at: string; rank: number; curves: readonly Curve[]; logged: number }) {
  const found = useMemo(() => pieces(curves), [curves]);
  const best = useMemo(() => bestOf(curves), [curves]);
  const total = (found.at(-1)?.begin ?? 0) + (found.at(-1)?.count ?? 0);
  const [top, setTop] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const tall = Math.min(total * ROW_PIXELS, TALLEST_PIXELS);
  // what can be scrolled is less than all by what is in sight
  const scale = total * ROW_PIXELS > tall ? (tall - IN_SIGHT * ROW_PIXELS) / ((total - IN_SIGHT) * ROW_PIXELS) : 1;
  const atTop = top / scale / ROW_PIXELS;
  const first = Math.max(0, Math.floor(atTop) - SPARE_ROWS);
  const last = Math.min(total, first + IN_SIGHT + 2 * SPARE_ROWS);
  const known = usePieces(at, rank, curves, found, first, last);
  const names = curves.map((curve) => curve.metric);
  const columns = `5.5rem repeat(${names.length}, minmax(5.5rem, 1fr)) 7rem`;
  const goTo = (place: number): void => box.current?.scrollTo({ top: Math.max(0, (place - IN_SIGHT / 2) * ROW_PIXELS * scale) });
  const bestPlace = best && placeOf(found, best.step);
  return (
    <>
      <p class="muted">
        {total.toLocaleString("en")} steps{isSaved() && total < logged ? ` of ${logged.toLocaleString("en")}` : ""}{" "}
        {best && bestPlace !== undefined && (
          <button type="button" class="quiet" onClick={() => goTo(bestPlace)}>
            best {best.metric} {format.digits(best.value)}
          </button>
        )}
        <button type="button" class="quiet" onClick={() => goTo(total)}>
          last
        </button>
      </p>
      <div class="steps" ref={box} tabIndex={0} role="table" aria-label="Table of steps" aria-rowcount={total + 1} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <div class="head" role="row" style={{ gridTemplateColumns: columns }}>
          <span role="columnheader">Step</span>
          {names.map((name) => (
            <span role="columnheader" key={name} title={name}>
              {name}
            </span>
          ))}
          <span role="columnheader">
            <span class="unseen">Marks</span>
          </span>
        </div>
        <div style={{ height: `${tall}px`, position: "relative" }} role="rowgroup">
          {Array.from({ length: last - first }, (_, place) => (
            <Row key={first + place} place={first + place} pixels={Math.round(top + (first + place - atTop) * ROW_PIXELS)} total={total} row={known(first + place)} names={names} best={best} columns={columns} />
          ))}
        </div>
      </div>
    </>
  );
}

interface RowProps {
  place: number;
  /** How far down it stands. */
  pixels: number;
  total: number;
  row: StepRow | undefined;
  names: readonly string[];
  best: Best | undefined;
  columns: string;
}

function Row({ place, pixels, total, row, names, best, columns }: RowProps) {
  const isBest = row !== undefined && best !== undefined && row.values.get(best.metric) === best.value;
  const isLast = place === total - 1;
  return (
    <div
      class={`${isBest ? "best" : ""} ${isLast ? "last" : ""}`}
      role="row"
      aria-rowindex={place + 2}
      style={{ gridTemplateColumns: columns, transform: `translateY(${pixels}px)` }}
    >
      <span role="cell">{row ? row.step.toLocaleString("en") : "…"}</span>
      {names.map((name) => (
        <span role="cell" key={name}>
          <Value value={row?.values.get(name)} />
        </span>
      ))}
      <span role="cell">
        {isBest && <span class="badge good">best</span>}
        {isLast && <span class="badge">last</span>}
      </span>
    </div>
  );
}

function Value({ value }: { value: number | string | undefined }) {
  if (typeof value === "string") return <b class="critical">{value}</b>;
  return <>{value === undefined ? "" : format.digits(value)}</>;
}

/** Fetch the pieces that are in sight, once each, and give the rows that are known. */
function usePieces(at: string, rank: number, curves: readonly Curve[], found: readonly Piece[], first: number, last: number) {
  const kept = useRef(new Map<string, StepRow[]>());
  const [, setTurn] = useState(0);
  const inSight = found.filter((piece) => piece.begin < last && piece.begin + piece.count > first);
  const key = (piece: Piece): string => `${rank} ${curves.length} ${piece.from} ${piece.to} ${piece.count}`;
  const missing = inSight.filter((piece) => !kept.current.has(key(piece)));
  useEffect(() => {
    const [begin, end] = [missing[0], missing.at(-1)];
    if (!begin || !end) return;
    const abort = new AbortController();
    const query = { ranks: rank, from: begin.from, to: end.to, points: MOST_ROWS, metrics: curves.map((curve) => curve.metric) };
    get<Curves>(`${at}/steps`, query, abort.signal).then(
      (answer) => {
        const rows = rowsOf(answer.series.filter((curve) => curve.source === curves[0]?.source), longest(curves)?.metric ?? "");
        for (const piece of missing) {
          kept.current.set(key(piece), rows.filter((row) => row.step >= piece.from && row.step <= piece.to));
        }
        setTurn((before) => before + 1);
      },
      () => undefined, // asked again with the next scroll
    );
    return () => abort.abort();
  }, [missing.map(key).join()]);
  return (place: number): StepRow | undefined => {
    const piece = inSight.find((one) => place >= one.begin && place < one.begin + one.count);
    return piece && kept.current.get(key(piece))?.[place - piece.begin];
  };
}
