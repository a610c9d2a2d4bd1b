// The answers that a saved report carries: by address, as the server gave them. What an address asks for in its query
// (a part of a line, some lines of the output) is taken out of the whole here, since there is nobody left to ask.
import { Problem } from "../api.ts";
import * as format from "../format.ts";
import type { Curves, Lines, LogPage } from "../types.ts";

export interface Kept {
  run_id: string;
  made_by: string;
  made_at: string;
  lines_left_out: number;
  answers: Record<string, unknown>;
}

/** Read what lies packed in the page. */
export async function read(element: Element | null): Promise<Kept> {
  const packed = Uint8Array.from(atob(element?.textContent ?? ""), (letter) => letter.charCodeAt(0));
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(plain).json()) as Kept;
}

/** Answer in place of a server. */
export function answering({ answers }: Kept): (method: string, address: string) => unknown {
  return (method, address) => {
    const [path = "", text] = address.split("?");
    const query = new URLSearchParams(text);
    const name = method === "GET" ? path : `${method} ${path}`;
    if (method === "GET" && path.endsWith("/logs")) return output(answers, path, query);
    if (!(name in answers)) {
      throw new Problem(0, "this report was saved: nothing more is known here", "jobmeter ui shows the run itself");
    }
    const found = answers[name];
    if (path.endsWith("/series")) return lines(found as Lines, query);
    if (path.endsWith("/steps")) return curves(found as Curves, query);
    return found;
  };
}

function listed(query: URLSearchParams, name: string): Set<string> | undefined {
  const text = query.get(name);
  return text ? new Set(text.split(",")) : undefined;
}

function lines(found: Lines, query: URLSearchParams): Lines {
  const [keys, instances] = [listed(query, "keys"), listed(query, "instances")];
  const wanted = found.series.filter((one) => (keys?.has(one.key) ?? true) && (instances?.has(one.instance) ?? true));
  return { ...found, series: wanted };
}

function curves(found: Curves, query: URLSearchParams): Curves {
  const [names, ranks] = [listed(query, "metrics"), listed(query, "ranks")];
  const wanted = found.series.filter((one) => (names?.has(one.metric) ?? true) && (ranks?.has(String(one.rank)) ?? true));
  return { ...found, series: wanted };
}

function output(answers: Record<string, unknown>, path: string, query: URLSearchParams): LogPage {
  const named = `${path}?stream=${query.get("stream") ?? ""}`;
  const name = Object.keys(answers).find((one) => one === path || one.startsWith(named)) ?? path;
  const whole = answers[name] as LogPage;
  const search = query.get("search")?.toLowerCase();
  const from = query.has("at") ? before(whole, Number(query.get("at"))) : Number(query.get("offset") ?? 0);
  const found = whole.lines.filter((line) => line.offset >= from && (!search || line.text.toLowerCase().includes(search)));
  const [tail, limit] = [Number(query.get("tail") ?? 0), Number(query.get("limit") ?? found.length)];
  const lines = tail ? found.slice(-tail) : found.slice(0, limit);
  const [first, next] = [lines[0], tail ? undefined : found[limit]];
  // what comes before the first line that was kept cannot be had, so nobody offers it
  const begin = first === undefined || first === whole.lines[0] ? 0 : first.offset;
  return { ...whole, lines, begin, next: next?.offset ?? whole.size_bytes };
}

/** The last line that had come by a moment. */
function before(whole: LogPage, moment: number): number {
  return whole.lines.findLast((line) => (format.epoch(line.timestamp ?? undefined) ?? Infinity) <= moment)?.offset ?? 0;
}
