// The filter language as far as a page that helps to write it must know it: its tokens, whether a text is whole yet,
// and where in it the caret stands. What a filter means, and whether it is right, the server says (docs/filters.md).
import type { FieldTold } from "../types.ts";

export type Kind = "open" | "close" | "op" | "quoted" | "word" | "and" | "or" | "not" | "wrong";

export type Fields = ReadonlyMap<string, FieldTold>;

export interface Token {
  kind: Kind;
  /** What it says, without quotes. */
  text: string;
  begin: number;
  end: number;
}

const TOKEN = /\s*(?:(?<open>\()|(?<close>\))|(?<op>!=|!~|<=|>=|==|[=<>~])|(?<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<word>[^\s()=<>!~"']+))/suy;
const JOINS = new Set(["and", "or", "not"]);

export function tokens(text: string): Token[] {
  const found: Token[] = [];
  TOKEN.lastIndex = 0;
  for (let at = 0; at < text.trimEnd().length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match?.groups) {
      const begin = at + (text.slice(at).length - text.slice(at).trimStart().length);
      found.push({ kind: "wrong", text: text.slice(begin), begin, end: text.length });
      return found;
    }
    const [name, value] = Object.entries(match.groups).find(([, one]) => one !== undefined) as [Kind, string];
    const end = TOKEN.lastIndex;
    found.push(token(name, value, end));
  }
  return found;
}

function token(kind: Kind, value: string, end: number): Token {
  const begin = end - value.length;
  if (kind === "quoted") return { kind, text: value.slice(1, -1).replaceAll(/\\(.)/gs, "$1"), begin, end };
  if (kind === "word" && JOINS.has(value.toLowerCase())) return { kind: value.toLowerCase() as Kind, text: value, begin, end };
  return { kind, text: value, begin, end };
}

const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?([kKMGTP]i?B?|B|us|ms|s|m|min|h|d|w|%)?$/;
const MOMENT = /^(-\d+(\.\d+)?(us|ms|s|m|min|h|d|w)|\d{4}-\d\d-\d\d(T\d\d:\d\d.*)?)$/;

/** Tell a text that is on its way to become a filter: asking for it would only be refused. */
export function isUnfinished(text: string, fields: Fields): boolean {
  const found = tokens(text);
  const last = found.at(-1);
  if (!last) return false;
  if (["op", "and", "or", "not", "wrong", "open"].includes(last.kind)) return true;
  if (found.filter((one) => one.kind === "open").length !== found.filter((one) => one.kind === "close").length) return true;
  return found.some((one, place) => one.kind === "op" && !isComparison(found[place - 1], one, found[place + 1], fields));
}

function isComparison(field: Token | undefined, op: Token, value: Token | undefined, fields: Fields): boolean {
  if (!field || !value || !isName(field) || !isName(value)) return false;
  const known = fields.get(field.text);
  // tags, settings and metrics that the newest runs do not have, keys of summaries
  if (!known) return fields.size === 0 || /[._]/.test(field.text);
  if (!known.operators.includes(op.text === "==" ? "=" : op.text)) return false;
  if (known.values && ["=", "==", "!="].includes(op.text)) return known.values.includes(value.text.toLowerCase());
  if (known.holds === "a time") return MOMENT.test(value.text);
  return ["text", "anything", "a number, or NaN"].includes(known.holds) || NUMBER.test(value.text);
}

const isName = (one: Token): boolean => one.kind === "word" || one.kind === "quoted";

/** A word of the language: quoted where it would be read as something else. */
export function written(text: string): string {
  const isPlain = /^[^\s()=<>!~"']+$/.test(text) && !JOINS.has(text.toLowerCase());
  return isPlain ? text : `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}

/** A comparison in the filter language; a tag comes as key=value. */
export function comparison(field: string, value: string): string {
  if (field === "tag") {
    const [key, ...rest] = value.split("=");
    return comparison(`tag.${key}`, rest.join("="));
  }
  return `${written(field)}=${written(value)}`;
}

/** Runs that do not have a field at all. */
export function without(field: string): string {
  return `not ${written(field)}~""`;
}

/** Both filters together. */
export function both(one: string, two: string): string {
  return [...conjuncts(one), ...conjuncts(two)].join(" and ");
}

/** The parts that all have to hold, each as it is written. */
export function conjuncts(text: string): string[] {
  const found = tokens(text);
  if (found.length === 0) return [];
  let depth = 0;
  const starts: number[] = [];
  for (const [place, one] of found.entries()) {
    if (one.kind === "or" && depth === 0) return [`(${text.trim()})`];
    const before = found[place - 1];
    const isBeside = !before || before.kind === "and" || (before.kind !== "not" && before.kind !== "op" && one.kind !== "op");
    if (depth === 0 && isBeside && one.kind !== "and" && one.kind !== "close") starts.push(place);
    if (one.kind === "open") depth += 1;
    if (one.kind === "close") depth -= 1;
  }
  return starts.map((start, place) => {
    const next = starts[place + 1] ?? found.length;
    const end = found[next - 1]?.kind === "and" ? next - 2 : next - 1;
    return text.slice(found[start]?.begin, found[end]?.end);
  });
}

/** The values of a field that a part leaves the choice of: `a=1`, `(a=1 or a=2)`; nothing where it says anything else. */
export function alternatives(part: string, field: string): string[] | undefined {
  const inner = tokens(part).filter((one) => one.kind !== "open" && one.kind !== "close");
  const values: string[] = [];
  for (let at = 0; at < inner.length; at += 4) {
    const [name, op, value, join] = inner.slice(at, at + 4);
    if (name?.text !== field || op?.text !== "=" || !value || (join && join.kind !== "or")) return undefined;
    values.push(value.text);
  }
  return values.length ? values : undefined;
}

/** Which values of a field a filter asks for. */
export function chosenValues(text: string, field: string): string[] {
  return conjuncts(text).flatMap((part) => alternatives(part, field) ?? []);
}

/** The filter with another choice of values of a field. */
export function withValues(text: string, field: string, values: readonly string[]): string {
  const rest = conjuncts(text).filter((part) => !alternatives(part, field));
  const choice = values.map((value) => comparison(field, value)).join(" or ");
  return [...rest, ...(choice ? [values.length > 1 ? `(${choice})` : choice] : [])].join(" and ");
}
