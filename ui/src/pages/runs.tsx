// All runs: search, facets, groups, a table of any length of which only what is in sight exists.
import "../style/runs.css";
import { useEffect, useMemo, useState } from "preact/hooks";
import { asProblem } from "../api.ts";
import { useLoaded } from "../load.ts";
import { go, query, setQuery } from "../router.ts";
import type { FieldTold, Run } from "../types.ts";
import { Empty, Failed, InFront } from "../parts/bits.tsx";
import { tell } from "../parts/overlays.tsx";
import type { Column } from "../parts/run_columns.tsx";
import { Actions } from "../runs/actions.tsx";
import { Chooser } from "../runs/chooser.tsx";
import { saveList } from "../runs/csv.ts";
import { FacetList } from "../runs/facets.tsx";
import type { Fields } from "../runs/grammar.ts";
import { useGroups, type Row } from "../runs/groups.ts";
import { columns as chosenColumns } from "../runs/layout.ts";
import { FIRST_RUNS, useListing, type Kept, type Question } from "../runs/listing.ts";
import { usePicking } from "../runs/picking.ts";
import { Search } from "../runs/search.tsx";
import { Table } from "../runs/table.tsx";
import { Views } from "../runs/views.tsx";

/** What every row needs, whatever its columns are. */
const ALWAYS = ["run_id", "status", "name", "command"];

function question(columns: readonly Column[]): Question {
  const asked = query.value;
  const fields = [...new Set([...ALWAYS, ...columns.flatMap((column) => column.needs ?? [])])];
  return { q: asked.get("q") ?? "", sort: asked.get("sort") ?? "started", order: asked.get("order") ?? "desc", fields: fields.join(",") };
}

export function Runs() {
  const columns = chosenColumns();
  const asked = question(columns);
  const group = query.value.get("group") ?? "";
  const listing = useListing(asked);
  const [turn, setTurn] = useState(0);
  const groups = useGroups(asked, group, turn);
  const plain = useMemo(() => listing.runs.map((run): Row => ({ kind: "run", run, key: run.run_id })), [listing.runs]);
  const rows: readonly Row[] = group ? groups.rows : plain;
  const picking = usePicking(rows.flatMap((row) => (row.kind === "run" ? row.run.run_id : [])));
  useEffect(() => {
    document.title = `${asked.q || "Runs"} · jobmeter`;
  }, [asked.q]);
  const again = (): void => {
    listing.again();
    setTurn((before) => before + 1);
  };
  const compare = (): void => go(`/compare?runs=${[...picking.ids].map(encodeURIComponent).join(",")}`);
  const isAnswered = listing.answers === JSON.stringify(asked);
  if (isAnswered && !listing.problem && listing.total === 0 && !asked.q) return <NoRun />;
  return (
    <>
      <h1 class="unseen">Runs</h1>
      <Tools {...{ asked, group, columns, listing, isAnswered }} />
      {listing.problem && <Failed problem={listing.problem} again={listing.again} />}
      <div class="runs">
        <Narrow q={asked.q} isReady={isAnswered && !listing.problem} stamp={`${turn} ${listing.total} ${tally(listing.runs)}`} />
        <Table
          {...{ rows, columns, picking, compare, toggle: groups.toggle, more: groups.more }}
          sort={asked.sort}
          order={asked.order}
          total={group ? rows.length : listing.total}
          isLoading={listing.isLoading || groups.facets.isLoading}
          question={JSON.stringify([listing.answers, group])}
          nearEnd={() => group || listing.more()}
        />
      </div>
      {picking.ids.size > 0 && <Actions {...{ ids: [...picking.ids], clear: picking.clear, compare, hide: listing.hide, again }} />}
    </>
  );
}

/** How the newest rows stand: another text when one of them goes over to another status. */
function tally(runs: readonly Run[]): string {
  return runs
    .slice(0, FIRST_RUNS)
    .map((run) => run.status.slice(0, 2))
    .join("");
}

function NoRun() {
  return (
    <>
      <h1>Runs</h1>
      <Empty title="No run yet" command="jobmeter run -- python train.py">
        <p>
          <InFront />, and it appears here while it runs. For example:
        </p>
      </Empty>
    </>
  );
}

interface ToolsProps {
  asked: Question;
  group: string;
  columns: readonly Column[];
  listing: Kept;
  isAnswered: boolean;
}

function Tools({ asked, group, columns, listing, isAnswered }: ToolsProps) {
  const told = useLoaded<{ fields: FieldTold[] }>("/api/v1/runs/fields");
  const fields: Fields = useMemo(() => new Map(told.data?.fields.map((one) => [one.name, one])), [told.data]);
  const [saving, setSaving] = useState("");
  const save = (): void => {
    setSaving("0 %");
    saveList(asked, columns, (done, total) => setSaving(`${Math.round((100 * done) / Math.max(1, total))} %`))
      .catch((problem: unknown) => tell({ text: asProblem(problem).message }))
      .finally(() => setSaving(""));
  };
  return (
    <div class="search tools-line">
      <Search q={asked.q} fields={fields} />
      <span class={isAnswered ? "count" : "count muted"} aria-live="polite">
        {listing.total.toLocaleString("en")} run{listing.total === 1 ? "" : "s"}
      </span>
      <GroupBy group={group} fields={fields} />
      <Views />
      <Chooser columns={columns} fields={fields} />
      <button type="button" class="quiet" onClick={save} disabled={saving !== "" || listing.total === 0} title="save the whole list as a file">
        {saving || "CSV"}
      </button>
    </div>
  );
}

const GROUPS: readonly [string, string][] = [
  ["", "no groups"],
  ["project", "project"],
  ["job_id", "job"],
  ["name", "name"],
  ["status", "status"],
  ["cause", "why it ended"],
  ["host", "host"],
  ["user", "user"],
];

function GroupBy({ group, fields }: { group: string; fields: Fields }) {
  const tags = [...fields.values()].filter((one) => one.name.startsWith("tag.")).map((one): [string, string] => [one.name, one.name.replace(".", " ")]);
  const known = [...GROUPS, ...tags];
  const choices = known.some(([name]) => name === group) ? known : [...known, [group, group] as [string, string]];
  return (
    <label class="group-by">
      <span class="muted">by</span>
      <select aria-label="Group by" value={group} onChange={(event) => setQuery({ group: event.currentTarget.value, open: null })}>
        {choices.map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

function Narrow({ q, isReady, stamp }: { q: string; isReady: boolean; stamp: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <aside class={isOpen ? "facets open" : "facets"} aria-label="Narrow down">
      <button type="button" class="narrow" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Narrow down
      </button>
      <div class="facet-lists">
        <FacetList {...{ q, isReady, stamp }} />
      </div>
    </aside>
  );
}
