// The table: however long the list is, only the rows in sight exist.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { go, isWriting, setQuery } from "../router.ts";
import type { Glance, Run } from "../types.ts";
import { Skeleton } from "../parts/bits.tsx";
import { nameOf, type Column } from "../parts/run_columns.tsx";
import { useGlances } from "./glances.ts";
import type { Row } from "./groups.ts";
import { Head, type Sorted } from "./head.tsx";
import { tracks } from "./layout.ts";
import type { Picking } from "./picking.ts";

const ROW_PIXELS = 34;
const SPARE_ROWS = 10;

interface TableProps extends Sorted {
  rows: readonly Row[];
  total: number;
  columns: readonly Column[];
  picking: Picking;
  isLoading: boolean;
  /** What answers; another one begins at the top. */
  question: string;
  nearEnd: () => void;
  toggle: (value: string | null) => void;
  more: (value: string | null) => void;
  compare: () => void;
}

export function Table(props: TableProps) {
  const { rows, columns, picking } = props;
  const box = useRef<HTMLDivElement>(null);
  const view = useView(box, props.question);
  const first = Math.max(0, Math.min(rows.length, Math.floor(view.top / ROW_PIXELS)) - SPARE_ROWS);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW_PIXELS) + SPARE_ROWS);
  const shown = rows.slice(first, last);
  const at = useCursor(box, props);
  const lines = columns.flatMap((column) => column.line ?? []);
  const isWanted = lines.length > 0 || columns.some((column) => column.name === "health");
  const glance = useGlances(shown.flatMap((row) => (row.kind === "run" ? row.run : [])), lines, isWanted);
  const style = tracks(columns);
  useEffect(() => {
    if (last >= rows.length - 50) props.nearEnd();
  }, [last, rows.length]);
  return (
    <div ref={box} class="table" role="table" aria-rowcount={props.total + 1} aria-label="Runs" tabIndex={0}>
      <Head {...{ columns, style, sort: props.sort, order: props.order, picked: picking.share, pickAll: picking.toggleAll }} />
      <div class="rows" style={{ height: `${rows.length * ROW_PIXELS}px`, paddingTop: `${first * ROW_PIXELS}px`, minWidth: style.minWidth }} role="rowgroup">
        {shown.map((row, place) => (
          <Line key={row.key} {...{ row, style, glance, columns, picking, place: first + place, isAt: first + place === at, toggle: props.toggle, more: props.more }} />
        ))}
      </div>
      {props.isLoading && rows.length === 0 && <Skeleton lines={14} />}
      {!props.isLoading && rows.length === 0 && <NoMatch />}
    </div>
  );
}

function NoMatch() {
  return (
    <div class="no-match" role="row">
      <div role="cell">
        <p>No run matches.</p>
        <p class="muted">
          Words are looked for in commands and names; <code>status=failed</code>, <code>wall&gt;2h</code> or <code>tag.team=core</code> compare.
        </p>
        <button type="button" onClick={() => setQuery({ q: null })}>
          All runs
        </button>
      </div>
    </div>
  );
}

/** Follow what part of the table is in sight. */
function useView(box: RefObject<HTMLDivElement | null>, question: string): { top: number; height: number } {
  const [view, setView] = useState({ top: 0, height: 900 });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = (): void => setView({ top: element.scrollTop, height: element.clientHeight });
    const sized = new ResizeObserver(look);
    sized.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      sized.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = 0;
  }, [question]);
  return view;
}

/** Move a place up and down by keys, and act on the run that is there. */
function useCursor(box: RefObject<HTMLDivElement | null>, { rows, picking, question, toggle, compare }: TableProps): number {
  const [at, setAt] = useState(-1);
  const place = useRef(-1); // keys come faster than the page is drawn
  const move = (to: number): void => {
    place.current = to;
    setAt(to);
  };
  useEffect(() => move(-1), [question]);
  useLayoutEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if (isWriting(event) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const row = rows[place.current];
      const isOnControl = (event.target as Element | null)?.closest?.("a, button, summary, [role=separator]") !== null;
      if (event.key === "j") move(Math.min(rows.length - 1, place.current + 1));
      else if (event.key === "k") move(Math.max(0, place.current - 1));
      else if ((event.key === "x" || event.key === "X") && row?.kind === "run") picking.toggle(row.run.run_id, event.shiftKey);
      else if (event.key === "Enter" && row && !isOnControl) open(row, toggle);
      else if (event.key === "c" && picking.ids.size > 1) compare();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  });
  useEffect(() => {
    const element = box.current;
    if (!element || at < 0) return;
    const top = at * ROW_PIXELS;
    if (top < element.scrollTop || top > element.scrollTop + element.clientHeight - 3 * ROW_PIXELS) {
      element.scrollTop = top - element.clientHeight / 2;
    }
  }, [at]);
  return at;
}

function open(row: Row, toggle: (value: string | null) => void): void {
  if (row.kind === "run") go(`/jobs/${encodeURIComponent(row.run.run_id)}`);
  else if (row.kind === "group") toggle(row.value);
}

interface LineProps {
  row: Row;
  place: number;
  isAt: boolean;
  style: { gridTemplateColumns: string; minWidth: string };
  columns: readonly Column[];
  picking: Picking;
  glance: (run: Run) => Glance | undefined;
  toggle: (value: string | null) => void;
  more: (value: string | null) => void;
}

function Line({ row, place, isAt, style, columns, picking, glance, toggle, more }: LineProps) {
  if (row.kind !== "run") {
    return (
      <div role="row" aria-rowindex={place + 2} class={`row wide-row${isAt ? " at" : ""}`}>
        <span role="cell" aria-colspan={columns.length + 1}>
          {row.kind === "group" && (
            <button type="button" class="group" aria-expanded={row.isOpen} onClick={() => toggle(row.value)}>
              <b>{row.value ?? "none"}</b> <span class="muted">{row.count.toLocaleString("en")}</span>
            </button>
          )}
          {row.kind === "more" && (
            <button type="button" class="quiet" onClick={() => more(row.value)}>
              {row.left.toLocaleString("en")} more
            </button>
          )}
          {row.kind === "others" && <span class="muted">{row.text}</span>}
        </span>
      </div>
    );
  }
  const { run } = row;
  const isPicked = picking.ids.has(run.run_id);
  return (
    <div
      role="row"
      aria-rowindex={place + 2}
      aria-current={isAt ? "true" : undefined}
      class={`row${isPicked ? " picked" : ""}${isAt ? " at" : ""}`}
      style={style}
    >
      <span class="cell pick" role="cell">
        <input
          type="checkbox"
          aria-label={`pick ${run.run_id}`}
          title={`pick ${nameOf(run)}; Shift: all from the last one`}
          checked={isPicked}
          onClick={(event) => picking.toggle(run.run_id, event.shiftKey)}
        />
      </span>
      {columns.map((column) => (
        <span key={column.name} role="cell" class={column.isNumber ? "cell number" : "cell"}>
          {column.cell(run, glance(run))}
        </span>
      ))}
    </div>
  );
}
