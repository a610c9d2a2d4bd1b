// Narrowing down by a click: the values runs have, with their counts. Several values of one field are a choice.
import { useEffect, useRef, useState } from "preact/hooks";
import { throttle, useLoaded, type Loaded } from "../load.ts";
import { setQuery } from "../router.ts";
import type { Facets } from "../types.ts";
import { Skeleton } from "../parts/bits.tsx";
import { inWords } from "./causes.ts";
import { looked } from "./glances.ts";
import { chosenValues, withValues } from "./grammar.ts";

const NAMES = ["project", "status", "cause", "tag", "host", "user"] as const;
const TITLES: Record<string, string> = { cause: "why it ended" };
const FEW = 6;
/** Whoever writes on is not made to wait for counts of what was written before. */
const REST_MILLISECONDS = 250;
/** Runs in sight are analysed a few at a time: what that finds is counted in between. */
const LOOK_MILLISECONDS = 2000;
/** What the server counts apart at most. */
const MOST_VALUES = 100;
const NOT_ENDED = ["queued", "running", "paused"];

interface Asked {
  q: string;
  /** Rows come first: what is counted beside them is asked for once they are here. */
  isReady: boolean;
  /** Another one when runs came, went or were changed. */
  stamp: string;
}

export function FacetList({ q, isReady, stamp }: Asked) {
  const [settled, setSettled] = useState<string | null>(null);
  useEffect(() => {
    if (!isReady || settled === q) return;
    const timer = setTimeout(() => setSettled(q), settled === null ? 0 : REST_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [q, isReady, settled]);
  return settled === null ? <Skeleton lines={10} /> : <Counted {...{ q, settled, stamp }} />;
}

interface CountedProps {
  q: string;
  settled: string;
  stamp: string;
}

function Counted({ q, settled, stamp }: CountedProps) {
  const active = NAMES.filter((name) => name !== "tag" && chosenValues(settled, name).length > 0);
  const rest = NAMES.filter((name) => !active.includes(name));
  const found = useFacets(settled, rest);
  const before = useRef(stamp);
  useEffect(() => {
    if (before.current !== stamp && q === settled) found.again();
    before.current = stamp;
  }, [stamp]);
  const known = Object.keys(found.data?.facets ?? {});
  if (!found.data) return <Skeleton lines={10} />;
  return (
    <>
      {NAMES.map((name) =>
        active.includes(name) ? (
          <Chosen key={name} {...{ name, q, settled }} />
        ) : (
          known.includes(name) && <Section key={name} {...{ name, q }} values={found.data?.facets[name] ?? []} left={name === "cause" ? notLooked(found.data) : 0} />
        ),
      )}
    </>
  );
}

/** Count values, and again when runs that had not been looked at were; every run has a status, so that all are counted. */
function useFacets(q: string, names: readonly string[]): Loaded<Facets> {
  const found = useLoaded<Facets>("/api/v1/runs/facets", { q, names: [...new Set([...names, "status"])] });
  const latest = useRef(found.again);
  latest.current = found.again;
  const again = useRef(throttle(LOOK_MILLISECONDS, () => latest.current()));
  const seen = useRef(looked.peek());
  const left = notLooked(found.data);
  useEffect(() => {
    if (left === 0 || seen.current === looked.value) return;
    seen.current = looked.value;
    again.current();
  }, [looked.value, left]);
  return found;
}

/** Of how many runs that ended nobody knows why; none where not all causes were counted. */
function notLooked(found: Facets | undefined): number {
  const causes = found?.facets["cause"];
  const statuses = found?.facets["status"];
  if (!causes || !statuses || causes.length >= MOST_VALUES) return 0;
  const ended = statuses.filter((one) => !NOT_ENDED.includes(one.value));
  return Math.max(0, sum(ended) - sum(causes));
}

function sum(counted: readonly { count: number }[]): number {
  return counted.reduce((total, one) => total + one.count, 0);
}

/** Of a field that is filtered by, count what the rest of the filter leaves: another value can be added. */
function Chosen({ name, q, settled }: { name: string; q: string; settled: string }) {
  const others = useFacets(withValues(settled, name, []), [name]);
  const chosen = chosenValues(q, name);
  const values = others.data?.facets[name] ?? chosen.map((value) => ({ value, count: undefined }));
  return <Section {...{ name, q, values }} left={name === "cause" ? notLooked(others.data) : 0} />;
}

interface SectionProps {
  name: string;
  q: string;
  values: readonly { value: string; count: number | undefined }[];
  /** Runs that are not looked at yet. */
  left: number;
}

function Section({ name, q, values, left }: SectionProps) {
  const [isWhole, setWhole] = useState(false);
  if (values.length === 0 && left === 0) return null;
  const isChosen = (value: string): boolean => chosenIn(q, name, value);
  const few = values.filter(({ value }, place) => isWhole || place < FEW || isChosen(value));
  return (
    <section aria-label={TITLES[name] ?? name}>
      <h3>{TITLES[name] ?? name}</h3>
      {few.map(({ value, count }) => (
        <button type="button" key={value} aria-pressed={isChosen(value)} onClick={() => setQuery({ q: turned(q, name, value) })}>
          <span title={name === "cause" ? `${value}: ${inWords(value)}` : value}>{value}</span>
          <span class="muted">{count?.toLocaleString("en")}</span>
        </button>
      ))}
      {values.length > few.length && (
        <button type="button" class="muted" onClick={() => setWhole(true)}>
          {values.length - few.length} more
        </button>
      )}
      {left > 0 && (
        <p class="muted" title="runs are looked at when they come in sight or are opened; those of very many samples when they are opened">
          {left.toLocaleString("en")} not looked at yet
        </p>
      )}
    </section>
  );
}

/** The field and the value a facet stands for: tags come as key=value. */
function named(name: string, value: string): [string, string] {
  if (name !== "tag") return [name, value];
  const [key, ...rest] = value.split("=");
  return [`tag.${key}`, rest.join("=")];
}

function chosenIn(q: string, name: string, value: string): boolean {
  const [field, wanted] = named(name, value);
  return chosenValues(q, field).includes(wanted);
}

function turned(q: string, name: string, value: string): string {
  const [field, wanted] = named(name, value);
  const chosen = chosenValues(q, field);
  return withValues(q, field, chosen.includes(wanted) ? chosen.filter((one) => one !== wanted) : [...chosen, wanted]);
}
