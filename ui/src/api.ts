// One way to the server: JSON over fetch with the token, problems as errors with a sentence and a hint.
import { refused, token } from "./auth.ts";

export type Query = Record<string, string | number | boolean | readonly string[] | null | undefined>;

export class Problem extends Error {
  readonly status: number;
  readonly hint: string;

  constructor(status: number, detail: string, hint = "") {
    super(detail);
    this.status = status;
    this.hint = hint;
  }
}

/** Whatever went wrong, as a problem that can be told. */
export function asProblem(problem: unknown): Problem {
  return problem instanceof Problem ? problem : new Problem(0, String(problem));
}

export function url(path: string, query: Query = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    given.set(name, Array.isArray(value) ? value.join(",") : String(value));
  }
  const text = given.toString();
  return text ? `${path}?${text}` : path;
}

export function headers(more: Record<string, string> = {}): Record<string, string> {
  return token.value ? { ...more, authorization: `Bearer ${token.value}` } : more;
}

export async function get<T>(path: string, query: Query = {}, abort?: AbortSignal): Promise<T> {
  return ask<T>("GET", url(path, query), undefined, abort);
}

export async function send<T>(method: "POST" | "PATCH" | "DELETE", path: string, body?: unknown): Promise<T> {
  return ask<T>(method, path, body);
}

let keeper: ((method: string, address: string) => unknown) | undefined;
let made: number | undefined;

/** Let somebody else answer than a server: what a saved report carries, as it was at a moment in epoch seconds. */
export function answerFrom(given: (method: string, address: string) => unknown, at: number | undefined): void {
  keeper = given;
  made = at;
}

/** Until when what is shown is known, in epoch seconds: of a report in a file until it was made. */
export function knownUntil(): number {
  return made ?? Date.now() / 1000;
}

/** Tell whether this is a report in a file: nothing moves in it, and nothing can be changed. */
export function isSaved(): boolean {
  return keeper !== undefined;
}

async function ask<T>(method: string, path: string, body?: unknown, abort?: AbortSignal): Promise<T> {
  if (keeper) return keeper(method, path) as T;
  const init: RequestInit = { method, headers: headers(body === undefined ? {} : { "content-type": "application/json" }) };
  if (body !== undefined) init.body = JSON.stringify(body);
  if (abort) init.signal = abort;
  const used = token.value;
  let answer: Response;
  try {
    answer = await fetch(path, init);
  } catch (error) {
    if (abort?.aborted) throw error;
    throw new Problem(0, "the server cannot be reached", "is `jobmeter serve` still running?");
  }
  if (!answer.ok) throw await problem(answer, used);
  return answer.status === 204 ? (undefined as T) : ((await answer.json()) as T);
}

/** What an answer complains of; of a token that is no longer the one in use it says nothing. */
export async function problem(answer: Response, used: string): Promise<Problem> {
  if (answer.status === 401 && used === token.value) refused.value = true;
  try {
    const told = (await answer.json()) as { detail?: string; hint?: string };
    return new Problem(answer.status, told.detail ?? answer.statusText, told.hint);
  } catch {
    return new Problem(answer.status, `the server answered ${answer.status}`);
  }
}
