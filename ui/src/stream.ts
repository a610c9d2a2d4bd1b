// Live events: a server-sent event stream read by fetch, because EventSource cannot send a token. After a break it goes
// on from the last event it has; what the server no longer holds is told as `reset`, and readers read again.
import { signal } from "@preact/signals";
import { headers, isSaved, url } from "./api.ts";

export interface Live {
  kind: string;
  data: Record<string, unknown>;
}

export type Listener = (event: Live) => void;

/** When the server was last heard, in milliseconds; 0 before the first time. */
export const heardAt = signal(0);
export const isConnected = signal(false);

const listeners = new Set<Listener>();
let running: AbortController | undefined;
let lastId = "";

/** Be told of everything that happens; ends by the function that is given back. */
export function listen(listener: Listener): () => void {
  if (isSaved()) return () => undefined;
  listeners.add(listener);
  if (!running) void follow();
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      running?.abort();
      running = undefined;
    }
  };
}

async function follow(): Promise<void> {
  const mine = (running = new AbortController());
  let wait = 500;
  while (!mine.signal.aborted) {
    try {
      await read(mine.signal);
      wait = 500;
    } catch {
      wait = Math.min(wait * 2, 15_000); // a server that is away is asked less and less often
    }
    isConnected.value = false;
    if (!mine.signal.aborted) await new Promise((resolve) => setTimeout(resolve, wait * (0.75 + Math.random() / 2)));
  }
}

const SILENCE_MILLISECONDS = 45_000;

async function read(stop: AbortSignal): Promise<void> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MILLISECONDS);
  const answer = await fetch(url("/api/v1/stream", { last_event_id: lastId }), {
    headers: headers({ accept: "text/event-stream" }),
    signal: AbortSignal.any([stop, silence.signal]),
  });
  if (!answer.ok || !answer.body) throw new Error(String(answer.status));
  isConnected.value = true;
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

function tell(block: string): void {
  let kind = "message";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("id: ")) lastId = line.slice(4);
    else if (line.startsWith("event: ")) kind = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (!data) return;
  const event: Live = { kind, data: JSON.parse(data) as Record<string, unknown> };
  for (const listener of [...listeners]) listener(event);
}
