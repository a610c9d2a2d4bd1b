// Live events: a server-sent event stream read by fetch, because EventSource cannot send a token. After a break it goes
// on from the last event it has; what the server no longer holds is told as `reset`, and readers read again. The first
// time it is told as `connected`: what was read before may have changed until then. A tab that nobody looks at gives its
// connection back, since a browser has only six for a server.
import { signal } from "@preact/signals";
import { headers, isSaved, problem, url } from "./api.ts";
import { token } from "./auth.ts";

export interface Live {
  kind: string;
  data: Record<string, unknown>;
}

export type Listener = (event: Live) => void;

/** Tell whether something is to be read anew of a run: there is news of it, or news were missed. One that was deleted has none. */
export function isAbout(event: Live, runId: string, isOver: boolean): boolean {
  if (event.kind === "reset") return true;
  if (event.kind === "connected") return !isOver;
  return event.data["run_id"] === runId && event.data["removed"] !== true;
}

/** When the server was last heard, in milliseconds; 0 before the first time. */
export const heardAt = signal(0);
export const isConnected = signal(false);

const listeners = new Set<Listener>();
let running: AbortController | undefined;
let lastId = "";
/** Whether events went by that nobody listened to. */
let isMissed = false;

/** A page that asks another question listens again at once: it need not connect anew. */
const LEAVE_MILLISECONDS = 1_000;
let leaving: ReturnType<typeof setTimeout> | undefined;

/** Be told of everything that happens; ends by the function that is given back. */
export function listen(listener: Listener): () => void {
  if (isSaved()) return () => undefined;
  listeners.add(listener);
  clearTimeout(leaving);
  if (!running) void follow();
  if (document.visibilityState === "hidden") restLater();
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) leaving = setTimeout(stop, LEAVE_MILLISECONDS);
  };
}

function stop(): void {
  running?.abort();
  running = undefined;
}

async function follow(): Promise<void> {
  const mine = (running = new AbortController());
  let wait = FIRST_WAIT_MILLISECONDS;
  let isAgain = isMissed;
  isMissed = false;
  while (!mine.signal.aborted) {
    try {
      await read(mine.signal, isAgain);
      wait = FIRST_WAIT_MILLISECONDS;
    } catch {
      wait = Math.min(wait * 2, 15_000); // a server that is away is asked less and less often
    }
    isAgain = true;
    isConnected.value = false;
    if (!mine.signal.aborted) await pause(wait * (0.75 + Math.random() / 2));
  }
}

const FIRST_WAIT_MILLISECONDS = 500;
const SILENCE_MILLISECONDS = 45_000;
const HEARTBEAT_MILLISECONDS = 15_000;

/** Ends what is waited for: the next try, or a connection that says nothing any more. */
let wake: () => void = () => undefined;

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

async function read(stop: AbortSignal, isAgain: boolean): Promise<void> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MILLISECONDS);
  wake = () => {
    if (Date.now() - heardAt.value > 2 * HEARTBEAT_MILLISECONDS) silence.abort();
  };
  const used = token.value;
  const answer = await fetch(url("/api/v1/stream", { last_event_id: lastId }), {
    headers: headers({ accept: "text/event-stream" }),
    signal: AbortSignal.any([stop, silence.signal]),
  });
  if (!answer.ok || !answer.body) throw await problem(answer, used);
  isConnected.value = true;
  heardAt.value = Date.now();
  // what was asked for while nobody answered is asked for again, whatever the server still holds
  pass({ kind: isAgain ? "reset" : "connected", data: {} });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    clearTimeout(timer);
    if (done) return;
    timer = setTimeout(() => silence.abort(), SILENCE_MILLISECONDS);
    heardAt.value = Date.now();
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) tell(block);
  }
}

const HIDDEN_MILLISECONDS = 10_000;
let resting: ReturnType<typeof setTimeout> | undefined;

/** Give the connection back, unless somebody looks again before long. */
function restLater(): void {
  clearTimeout(resting);
  resting = setTimeout(() => {
    if (!running) return;
    isMissed = true;
    stop();
  }, HIDDEN_MILLISECONDS);
}

/** Back from sleep, from another tab or from a dead network: do not wait, and read again what is shown. */
function woken(): void {
  if (document.visibilityState === "hidden") {
    restLater();
    return;
  }
  clearTimeout(resting);
  if (!running && listeners.size > 0) {
    void follow();
    return;
  }
  wake();
  if (isConnected.value) pass({ kind: "reset", data: {} });
}

addEventListener("online", woken);
document.addEventListener("resume", woken);
document.addEventListener("visibilitychange", woken);

function pass(event: Live): void {
  for (const listener of [...listeners]) listener(event);
}

function tell(block: string): void {
  let kind = "message";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("id: ")) lastId = line.slice(4);
    else if (line.startsWith("event: ")) kind = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (!data) return;
  pass({ kind, data: JSON.parse(data) as Record<string, unknown> });
}
