// The lines of a job's output that are read: from its end on, around a place, or those with a text; and more of them.
import { useEffect, useRef, useState } from "preact/hooks";
import { asProblem, get, type Problem, type Query } from "../api.ts";
import { throttle } from "../load.ts";
import { isAbout, listen } from "../stream.ts";
import type { LogLine, LogPage } from "../types.ts";

/** What is read: the end, the lines around a place (one that nobody asked for, where it opened), or those with a text. */
export type Place = { kind: "end" } | { kind: "at"; offset: number; isOpening?: boolean } | { kind: "search"; text: string };

type Ask = (query: Query) => Promise<LogPage>;

const TAIL_LINES = 400;
const MOST_LINES = 4000;
/** How far before a place to begin: the less, the shorter the lines are, or the page would end before the place. */
const BEFORE_BYTES = [8000, 800, 0];
const EARLIER_BYTES = 64_000;
const NEWS_MILLISECONDS = 500;

interface Read {
  page: LogPage | undefined;
  problem: Problem | undefined;
  add: (where: "before" | "after") => Promise<void>;
  again: () => void;
}

const asking = (id: string, stream: string | undefined): Ask => (query) => get<LogPage>(`/api/v1/runs/${encodeURIComponent(id)}/logs`, { stream, ...query });

/** Read lines and, at the end of a run that goes on, those that come. */
export function usePage(id: string, stream: string | undefined, place: Place, isLive: boolean): Read {
  const [state, setState] = useState<{ page?: LogPage; problem?: Problem }>({});
  const [turn, setTurn] = useState(0);
  const latest = useRef<LogPage | undefined>(undefined);
  latest.current = state.page;
  const ask = asking(id, stream);
  const failed = (problem: unknown): void => setState((before) => ({ ...before, problem: asProblem(problem) }));
  useEffect(() => {
    let isOld = false;
    pageOf(ask, place).then(
      (page) => isOld || setState({ page }),
      (problem: unknown) => isOld || failed(problem),
    );
    return () => void (isOld = true);
  }, [id, stream, JSON.stringify(place), turn]);
  useEffect(() => {
    if (place.kind !== "end") return;
    const more = async (): Promise<void> => {
      const before = latest.current;
      const found = await ask(before ? { offset: before.next, limit: TAIL_LINES } : { tail: TAIL_LINES });
      if (latest.current !== before) return;
      setState({ page: grown(before, found) });
      if (found.lines.length >= TAIL_LINES) look();
    };
    const look = throttle(NEWS_MILLISECONDS, () => void more().catch(() => undefined)); // the next event asks again
    return listen((event) => {
      if (isAbout(event, id, !isLive)) look();
    });
  }, [isLive, id, stream, place.kind]);
  const add = async (where: "before" | "after"): Promise<void> => {
    const before = latest.current;
    if (!before) return;
    try {
      const page = where === "after" ? grown(before, await ask(after(before, place))) : await withEarlier(ask, before);
      if (latest.current === before) setState({ page });
    } catch (problem) {
      failed(problem);
    }
  };
  return { page: state.page, problem: state.problem, add, again: () => setTurn((before) => before + 1) };
}

/** The first of other streams that has text; undefined where all are empty. */
export async function withText(id: string, streams: readonly string[]): Promise<string | undefined> {
  for (const stream of streams) {
    const found = await asking(id, stream)({ tail: 1 }).catch(() => undefined); // nobody asked for it
    if (found && !isEmpty(found)) return stream;
  }
  return undefined;
}

export function isEmpty(page: LogPage): boolean {
  return page.size_bytes === 0 && page.lines.length === 0 && !page.tail;
}

/** The last line that had come by a moment. */
export async function lineAt(id: string, stream: string | undefined, at: number): Promise<LogLine | undefined> {
  const found = await asking(id, stream)({ at, limit: 1 }).catch(() => undefined); // nobody asked for the output itself
  return found?.lines[0];
}

async function pageOf(ask: Ask, place: Place): Promise<LogPage> {
  switch (place.kind) {
    case "end":
      return ask({ tail: TAIL_LINES });
    case "at":
      return around(ask, place.offset);
    case "search":
      return ask({ search: place.text, limit: TAIL_LINES });
  }
}

/** Lines with that at a place among them, as many before it as fit. */
async function around(ask: Ask, offset: number): Promise<LogPage> {
  let found: LogPage | undefined;
  for (const before of BEFORE_BYTES) {
    found = await ask({ offset: Math.max(0, offset - before), limit: TAIL_LINES });
    if (found.next > offset || found.tail !== null) return found; // a tail: nothing is written behind it yet
  }
  return found as LogPage;
}

function after(before: LogPage, place: Place): Query {
  return { offset: before.next, limit: TAIL_LINES, search: place.kind === "search" ? place.text : undefined };
}

/** Lines with those before them: however short they are, none is left out in between. */
async function withEarlier(ask: Ask, shown: LogPage): Promise<LogPage> {
  let at = Math.max(0, shown.begin - EARLIER_BYTES);
  let begin: number | undefined;
  const lines: LogLine[] = [];
  while (at < shown.begin) {
    const found = await ask({ offset: at, limit: MOST_LINES });
    begin ??= found.begin;
    lines.push(...found.lines.filter((line) => line.offset < shown.begin));
    if (found.next <= at) break;
    at = found.next;
  }
  const kept = lines.slice(-MOST_LINES);
  return { ...shown, begin: kept.length < lines.length ? (kept[0]?.offset ?? 0) : (begin ?? 0), lines: [...kept, ...shown.lines] };
}

/** Lines with those that came after them; of very many the last. */
function grown(before: LogPage | undefined, found: LogPage): LogPage {
  const lines = [...(before?.lines ?? []), ...found.lines].slice(-MOST_LINES);
  return { ...found, begin: lines[0]?.offset ?? found.begin, lines };
}
