// What may come next in a filter: fields, their operators, values that runs have, words that join.
import type { FieldTold } from "../types.ts";
import { tokens, written, type Fields, type Token } from "./grammar.ts";

export interface Offer {
  kind: Place["kind"];
  /** What stands in the list. */
  text: string;
  note: string;
  /** What is put in place of the letters between `begin` and `end`. */
  insert: string;
  begin: number;
  end: number;
}

export interface Place {
  kind: "field" | "operator" | "value" | "join";
  field: FieldTold | undefined;
  /** What is written so far of it. */
  sofar: string;
  begin: number;
  end: number;
}

const MOST = 9;

/** Say what is being written where the caret stands. */
export function placeAt(text: string, caret: number, fields: Fields): Place {
  const before = tokens(text.slice(0, caret));
  const last = before.at(-1);
  const [second, third] = [before.at(-2), before.at(-3)];
  const touches = last !== undefined && last.end === caret;
  if (last?.kind === "op") return { kind: "value", field: fieldOf(second, fields), sofar: "", begin: caret, end: caret };
  if (touches && second?.kind === "op") return { kind: "value", field: fieldOf(third, fields), sofar: bare(last), begin: last.begin, end: caret };
  if (touches && (last.kind === "word" || last.kind === "wrong")) {
    const field = fields.get(last.text);
    return { kind: field ? "operator" : "field", field, sofar: last.text, begin: last.begin, end: caret };
  }
  const isJoined = !last || ["and", "or", "not", "open"].includes(last.kind);
  return { kind: isJoined ? "field" : "join", field: undefined, sofar: "", begin: caret, end: caret };
}

const fieldOf = (one: Token | undefined, fields: Fields): FieldTold | undefined => (one ? fields.get(one.text) : undefined);

/** A quote that is not closed yet is part of no value. */
const bare = (one: Token): string => (one.kind === "wrong" ? one.text.replace(/^["']/, "") : one.text);

/** Offer what goes on from there; `values` are those that runs have of the field. */
export function offers(place: Place, fields: Fields, values: readonly { value: string; count: number }[]): Offer[] {
  const at = { kind: place.kind, begin: place.begin, end: place.end };
  switch (place.kind) {
    case "operator":
      return (place.field?.operators ?? []).map((one) => ({ ...at, text: `${place.sofar}${one}`, note: MEANINGS[one] ?? "", insert: `${written(place.sofar)}${one}` }));
    case "value":
      return valueOffers(place, values).map((one) => ({ ...at, ...one }));
    case "join":
      return ["and", "or", "and not"].map((one) => ({ ...at, text: one, note: "", insert: `${one} ` }));
    case "field":
      return named(place.sofar, [...fields.values()]).map((one) => ({ ...at, text: one.name, note: one.holds, insert: written(one.name) }));
  }
}

const MEANINGS: Record<string, string> = {
  "=": "is", "!=": "is another", "~": "contains", "!~": "does not contain", "<": "below", "<=": "at most", ">": "above", ">=": "at least",
};

function named(sofar: string, fields: readonly FieldTold[]): FieldTold[] {
  const wanted = sofar.toLowerCase();
  const starting = fields.filter((one) => one.name.startsWith(wanted));
  const holding = fields.filter((one) => !one.name.startsWith(wanted) && one.name.toLowerCase().includes(wanted));
  return [...starting, ...holding].slice(0, MOST);
}

function valueOffers(place: Place, values: readonly { value: string; count: number }[]): Pick<Offer, "text" | "note" | "insert">[] {
  const wanted = place.sofar.toLowerCase();
  const counted = values.filter((one) => one.value.toLowerCase().includes(wanted));
  const known = new Set(counted.map((one) => one.value));
  const possible = (place.field?.values ?? []).filter((one) => one.includes(wanted) && !known.has(one));
  const found = [
    ...counted.map((one) => ({ text: one.value, note: `${one.count.toLocaleString("en")} runs`, insert: `${written(one.value)} ` })),
    ...possible.map((one) => ({ text: one, note: "0 runs", insert: `${one} ` })),
  ];
  const example = place.field?.example;
  if (found.length === 0 && example && !wanted) return [{ text: example, note: "for example", insert: `${example} ` }];
  return found.slice(0, MOST);
}

/** Which field's values are to be counted for a place: those of words, not of measurements. */
export function countedField(place: Place): string | undefined {
  if (place.kind !== "value" || !place.field) return undefined;
  return place.field.holds === "text" || /^(tag|config)\./.test(place.field.name) ? place.field.name : undefined;
}
