// All runs: search, facets, a table of any length of which only what is in sight exists.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, Problem } from "../api.ts";
import { throttle, useLoaded } from "../load.ts";
import { go, isWriting, query, setQuery } from "../router.ts";
import { listen } from "../stream.ts";
import type { Facets, Run, RunsPage } from "../types.ts";
import { Empty, Failed, Skeleton } from "../parts/bits.tsx";
import { remove } from "../parts/people.tsx";
import { chosen, COLUMNS, type Column } from "../parts/run_columns.tsx";

const ROW_PIXELS = 36;
const PAGE_RUNS = 200;
const SPARE_ROWS = 12;
const FACETS = "project,status,host,user,cause,tag";

interface Listing {
  runs: Run[];
  total: number;
  next: string | null;
  problem?: Problem;
  isLoading: boolean;
}

export function Runs() {
  const [q, sort, order] = [query.value.get("q") ?? "", query.value.get("sort") ?? "started", query.value.get("order") ?? "desc"];
  const listing = useListing(q, sort, order);
  const facets = useLoaded<Facets>("/api/v1/runs/facets", { q, names: FACETS });
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const columns = chosen(query.value.get("columns"));
  const isEmpty = !listing.isLoading && !listing.problem && listing.total === 0;
  if (isEmpty && !q) {
    return (
      <Empty title="No run yet" command="jobmeter run -- python train.py">
        <p>Put these words in front of any command, and it appears here while it runs.</p>
      </Empty>
    );
  }
  return (
    <>
      <Search q={q} total={listing.total} columns={columns} />
      {listing.problem && <Failed problem={listing.problem} again={listing.again} />}
      <div class="runs">
        <aside class="facets" aria-label="Narrow down">
          {facets.data ? <FacetList facets={facets.data} q={q} /> : <Skeleton lines={8} />}
        </aside>
        <Table {...{ listing, columns, sort, order, picked, setPicked }} />
      </div>
      {picked.size > 0 && <Actions picked={picked} clear={() => setPicked(new Set())} again={listing.again} />}
    </>
  );
}

type Kept = Listing & { more: () => void; again: () => void };

function useListing(q: string, sort: string, order: string): Kept {
  const [state, setState] = useState<Listing>({ runs: [], total: 0, next: null, isLoading: true });
  const [turn, setTurn] = useState(0);
  const busy = useRef(false);
  const ask = { q, sort, order, limit: PAGE_RUNS };
  useEffect(() => {
    const abort = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    get<RunsPage>("/api/v1/runs", ask, abort.signal).then(
      (page) => setState({ ...page, isLoading: false }),
      (problem: unknown) => {
        if (!abort.signal.aborted) setState((before) => ({ ...before, isLoading: false, problem: problem as Problem }));
      },
    );
    return () => abort.abort();
  }, [q, sort, order, turn]);
  useEffect(() => {
    const look = throttle(1000, () => void refresh());
    const refresh = async (): Promise<void> => {
      const page = await get<RunsPage>("/api/v1/runs", ask).catch(() => undefined);
      if (page) setState((before) => ({ ...before, ...merged(before, page) }));
    };
    return listen((event) => {
      if (event.kind === "run" || event.kind === "reset") look();
    });
  }, [q, sort, order]);
  const more = (): void => {
    if (busy.current || state.next === null) return;
    busy.current = true;
    get<RunsPage>("/api/v1/runs", { ...ask, cursor: state.next })
      .then((page) => setState((before) => ({ ...before, runs: [...before.runs, ...page.runs], next: page.next })))
      .catch((problem: unknown) => setState((before) => ({ ...before, problem: problem as Problem })))
      .finally(() => (busy.current = false));
  };
  return { ...state, more, again: () => setTurn((before) => before + 1) };
}

/** Put a fresh first page in place of the old one, and keep what was read behind it. */
function merged(before: Listing, page: RunsPage): Pick<Listing, "runs" | "total" | "next"> {
  if (before.runs.length <= PAGE_RUNS) return page;
  const fresh = new Set(page.runs.map((run) => run.run_id));
  return { runs: [...page.runs, ...before.runs.filter((run) => !fresh.has(run.run_id))], total: page.total, next: before.next };
}

function Search({ q, total, columns }: { q: string; total: number; columns: readonly Column[] }) {
  const [text, setText] = useState(q);
  useEffect(() => setText(q), [q]);
  const settle = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const change = (next: string): void => {
    setText(next);
    clearTimeout(settle.current);
    settle.current = setTimeout(() => setQuery({ q: next.trim() }), 200);
  };
  return (
    <div class="search">
      <input
        id="search"
        type="search"
        value={text}
        placeholder="Search, or filter: status=failed and wall>2h"
        aria-label="Search or filter runs"
        onInput={(event) => change(event.currentTarget.value)}
        spellcheck={false}
      />
      <span class="muted" aria-live="polite">
        {total.toLocaleString("en")} run{total === 1 ? "" : "s"}
      </span>
      <details class="chooser">
        <summary>Columns</summary>
        {COLUMNS.map((column) => (
          <label key={column.name}>
            <input
              type="checkbox"
              checked={columns.includes(column)}
              onChange={() => setQuery({ columns: toggled(columns, column) })}
            />
            {column.title}
          </label>
        ))}
      </details>
    </div>
  );
}

function toggled(columns: readonly Column[], one: Column): string {
  const next = columns.includes(one) ? columns.filter((other) => other !== one) : [...columns, one];
  return next.map((column) => column.name).join(",");
}

/** A comparison in the filter language, its value quoted. */
export function comparison(field: string, value: string): string {
  if (field === "tag") {
    const [key, ...rest] = value.split("=");
    return comparison(`tag.${key}`, rest.join("="));
  }
  return `${field}=${/^[\w.-]+$/.test(value) ? value : `"${value.replaceAll(/["\\]/g, "\\$&")}"`}`;
}

function FacetList({ facets, q }: { facets: Facets; q: string }) {
  return (
    <>
      {Object.entries(facets.facets)
        .filter(([, values]) => values.length > 0)
        .map(([field, values]) => (
          <section key={field}>
            <h3>{field}</h3>
            {values.slice(0, 8).map(({ value, count }) => {
              const part = comparison(field, value);
              const isOn = q.split(" and ").includes(part);
              return (
                <button type="button" key={value} aria-pressed={isOn} onClick={() => setQuery({ q: turned(q, part, isOn) })}>
                  <span title={value}>{value || "none"}</span>
                  <span class="muted">{count.toLocaleString("en")}</span>
                </button>
              );
            })}
          </section>
        ))}
    </>
  );
}

function turned(q: string, part: string, isOn: boolean): string {
  const parts = q.split(" and ").filter(Boolean);
  return (isOn ? parts.filter((one) => one !== part) : [...parts, part]).join(" and ");
}

interface TableProps {
  listing: Kept;
  columns: readonly Column[];
  sort: string;
  order: string;
  picked: ReadonlySet<string>;
  setPicked: (next: ReadonlySet<string>) => void;
}

function Table({ listing, columns, sort, order, picked, setPicked }: TableProps) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const [at, setAt] = useState(-1);
  const { runs } = listing;
  const first = Math.max(0, Math.floor(view.top / ROW_PIXELS) - SPARE_ROWS);
  const last = Math.min(runs.length, Math.ceil((view.top + view.height) / ROW_PIXELS) + SPARE_ROWS);
  const style = useMemo(() => ({ gridTemplateColumns: `2.4rem ${columns.map((one) => one.width).join(" ")}` }), [columns]);
  useEffect(() => {
    if (last >= runs.length - PAGE_RUNS / 2) listing.more();
  }, [last, runs.length]);
  const toggle = (id: string): void => {
    const next = new Set(picked);
    if (!next.delete(id)) next.add(id);
    setPicked(next);
  };
  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if (isWriting(event) || event.ctrlKey || event.metaKey) return;
      const run = runs[at];
      if (event.key === "j") setAt(Math.min(runs.length - 1, at + 1));
      else if (event.key === "k") setAt(Math.max(0, at - 1));
      else if (event.key === "x" && run) toggle(run.run_id);
      else if (event.key === "Enter" && run) go(`/jobs/${encodeURIComponent(run.run_id)}`);
      else if (event.key === "c" && picked.size > 1) compare(picked);
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
  return (
    <div
      ref={box}
      class="table"
      role="table"
      aria-rowcount={listing.total}
      aria-label="Runs"
      tabIndex={0}
      onScroll={(event) => setView({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}
    >
      <div class="head" role="row" style={style}>
        <span role="columnheader" aria-label="Picked" />
        {columns.map((column) => (
          <span
            key={column.name}
            role="columnheader"
            class={column.isNumber ? "number" : ""}
            aria-sort={sort === column.sort ? (order === "asc" ? "ascending" : "descending") : "none"}
          >
            {column.sort ? (
              <button type="button" onClick={() => setQuery(turnedSort(column, sort, order))}>
                {column.title}
                {sort === column.sort ? (order === "asc" ? " ↑" : " ↓") : ""}
              </button>
            ) : (
              <button type="button" disabled>
                {column.title}
              </button>
            )}
          </span>
        ))}
      </div>
      <div style={{ height: `${runs.length * ROW_PIXELS}px`, paddingTop: `${first * ROW_PIXELS}px` }} role="rowgroup">
        {runs.slice(first, last).map((run, place) => (
          <div
            key={run.run_id}
            role="row"
            aria-rowindex={first + place + 2}
            class={`row${picked.has(run.run_id) ? " picked" : ""}${first + place === at ? " at" : ""}`}
            style={style}
          >
            <span class="cell" role="cell">
              <input
                type="checkbox"
                aria-label={`pick ${run.run_id}`}
                checked={picked.has(run.run_id)}
                onChange={() => toggle(run.run_id)}
              />
            </span>
            {columns.map((column) => (
              <span key={column.name} role="cell" class={column.isNumber ? "cell number" : "cell"}>
                {column.cell(run)}
              </span>
            ))}
          </div>
        ))}
      </div>
      {listing.isLoading && runs.length === 0 && <Skeleton lines={12} />}
      {!listing.isLoading && runs.length === 0 && <p class="cell muted">No run matches.</p>}
    </div>
  );
}

function turnedSort(column: Column, sort: string, order: string): Record<string, string | null> {
  const isSame = sort === column.sort;
  return { sort: column.sort ?? null, order: isSame && order === "desc" ? "asc" : null };
}

function compare(picked: ReadonlySet<string>): void {
  go(`/compare?runs=${[...picked].map(encodeURIComponent).join(",")}`);
}

function Actions({ picked, clear, again }: { picked: ReadonlySet<string>; clear: () => void; again: () => void }) {
  return (
    <div class="actions" role="toolbar" aria-label="Picked runs">
      <span>{picked.size} picked</span>
      <button type="button" class="main" disabled={picked.size < 2} onClick={() => compare(picked)}>
        Compare
      </button>
      <button
        type="button"
        onClick={() => {
          void remove([...picked], again);
          clear();
        }}
      >
        Delete
      </button>
      <button type="button" class="quiet" onClick={clear}>
        Clear
      </button>
    </div>
  );
}
