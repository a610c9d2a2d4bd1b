// Narrowing down by a click: the values runs have, with their counts. Several values of one field are a choice.
import { useEffect, useRef, useState } from "preact/hooks";
import { useLoaded } from "../load.ts";
import { setQuery } from "../router.ts";
import type { Facets } from "../types.ts";
import { Skeleton } from "../parts/bits.tsx";
import { chosenValues, withValues } from "./grammar.ts";

const NAMES = ["project", "status", "cause", "tag", "host", "user"] as const;
const TITLES: Record<string, string> = { cause: "why it ended" };
const FEW = 6;
/** Whoever writes on is not made to wait for counts of what was written before. */
const REST_MILLISECONDS = 250;

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
  const found = useLoaded<Facets>("/api/v1/runs/facets", { q: settled, names: rest });
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
          known.includes(name) && <Section key={name} name={name} q={q} values={found.data?.facets[name] ?? []} />
        ),
      )}
    </>
  );
}

/** Of a field that is filtered by, count what the rest of the filter leaves: another value can be added. */
function Chosen({ name, q, settled }: { name: string; q: string; settled: string }) {
  const others = useLoaded<Facets>("/api/v1/runs/facets", { q: withValues(settled, name, []), names: name });
  const chosen = chosenValues(q, name);
  const values = others.data?.facets[name] ?? chosen.map((value) => ({ value, count: undefined }));
  return <Section name={name} q={q} values={values} />;
}

interface SectionProps {
  name: string;
  q: string;
  values: readonly { value: string; count: number | undefined }[];
}

function Section({ name, q, values }: SectionProps) {
  const [isWhole, setWhole] = useState(false);
  if (values.length === 0) return null;
  const isChosen = (value: string): boolean => chosenIn(q, name, value);
  const few = values.filter(({ value }, place) => isWhole || place < FEW || isChosen(value));
  return (
    <section aria-label={TITLES[name] ?? name}>
      <h3>{TITLES[name] ?? name}</h3>
      {few.map(({ value, count }) => (
        <button type="button" key={value} aria-pressed={isChosen(value)} onClick={() => setQuery({ q: turned(q, name, value) })}>
          <span title={value}>{value}</span>
          <span class="muted">{count?.toLocaleString("en")}</span>
        </button>
      ))}
      {values.length > few.length && (
        <button type="button" class="muted" onClick={() => setWhole(true)}>
          {values.length - few.length} more
        </button>
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
