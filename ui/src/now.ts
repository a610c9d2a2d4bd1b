// The present moment, moving on once a second while anybody looks, and the same for all.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

const now = signal(Date.now());
let readers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** In epoch seconds. */
export function useNow(): number {
  useEffect(() => {
    readers += 1;
    now.value = Date.now();
    timer ??= setInterval(() => (now.value = Date.now()), 1000);
    return () => {
      readers -= 1;
      if (readers > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return now.value / 1000;
}
