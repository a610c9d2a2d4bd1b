// What compared runs are called: in one line that is short and no other's. Where names are the same once they are cut,
// they are cut where they differ; where they are the same altogether, the end of the id tells them apart.
import { nameOf } from "../parts/run_columns.tsx";
import type { Run } from "../types.ts";

const TOLD_APART = 6;
const LONGEST = 40;
/** Of which so much is the end. */
const ENDING = 15;
/** So much of a command's beginning stays: its program. */
const BEGINNING = 12;
/** So much of what is the same stands before what differs. */
const BEFORE = 6;

export function namesOf(runs: readonly Run[]): string[] {
  const whole = runs.map(nameOf);
  const short = whole.map((name) => clipped(name, LONGEST));
  const apart = short.map((name, place) => {
    const same = whole.filter((other, at) => short[at] === name && other !== whole[place]);
    return same.length === 0 ? name : fromWhere(whole[place] ?? "", same);
  });
  return apart.map((name, place) => {
    const isAlone = apart.filter((other) => other === name).length === 1;
    return isAlone ? name : `${name} …${runs[place]?.run_id.slice(-TOLD_APART)}`;
  });
}

/** Cut a text in its middle: programs begin, and paths end, with what tells them apart. */
function clipped(text: string, letters: number): string {
  if (text.length <= letters) return text;
  return `${text.slice(0, letters - ENDING - 1).trimEnd()}…${text.slice(-ENDING).trimStart()}`;
}

/** Its program, and then what others do not have. */
function fromWhere(text: string, others: readonly string[]): string {
  const [program = ""] = text.split(" ", 1);
  const begin = program.length <= BEGINNING ? `${program} ` : "";
  const rest = Math.max(begin.length, differsAt([text, ...others]) - BEFORE);
  return `${begin}…${cut(text.slice(rest), LONGEST - begin.length - 1)}`;
}

/** Where texts stop to be the same. */
export function differsAt(texts: readonly string[]): number {
  const [first = "", ...others] = texts;
  let at = 0;
  while (at < first.length && others.every((other) => other[at] === first[at])) at += 1;
  return at;
}

/** Texts in so many letters, each from shortly before where they differ. */
export function fromDifference(texts: readonly string[], letters: number): string[] {
  if (texts.length < 2) return texts.map((text) => clipped(text, letters));
  const at = differsAt(texts);
  const from = at + BEFORE >= letters ? at - BEFORE : 0;
  return texts.map((text) => {
    if (text.length <= letters) return text;
    return from === 0 ? cut(text, letters) : `…${cut(text.slice(from), letters - 1)}`;
  });
}

function cut(text: string, letters: number): string {
  return text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
}
