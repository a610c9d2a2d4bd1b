// Where a job's output opens: at what went wrong where the job is over, else at the end of a stream that has text.
import { useEffect, useRef } from "preact/hooks";
import type { LogPage } from "../types.ts";
import type { Placed } from "./output_errors.tsx";
import { isEmpty, withText, type Place } from "./output_pages.ts";

/** How much may stand behind an error that is seen from the end. */
const NEAR_END_BYTES = 500;

interface Opening {
  id: string;
  page: LogPage | undefined;
  isLive: boolean;
  /** The error to begin at. */
  root: Placed | undefined;
  /** The job ended badly: its error is what one came for; one that went on after it is read from its end. */
  hasFailed: boolean;
  /** Somebody chose a stream or a place. */
  isTouched: boolean;
  open: (stream: string, place?: Place) => void;
}

/** Go once to where reading should begin, unless the reader went somewhere before. */
export function useOpening({ id, page, isLive, root, hasFailed, isTouched, open }: Opening): void {
  const isDone = useRef(false);
  const isWaiting = isTouched || isLive || page === undefined || page.stream === null;
  useEffect(() => {
    if (isWaiting || isDone.current || !root) return;
    const stream = root.stream ?? page.stream ?? "";
    if (!page.streams.includes(stream)) return;
    if (page.stream !== stream) return open(stream); // how much stands behind the error is known with its page
    isDone.current = true;
    if (hasFailed && page.size_bytes - root.offset > (root.traceback ?? root.message).length + NEAR_END_BYTES) {
      open(stream, { kind: "at", offset: root.offset, isOpening: true });
    }
  }, [isWaiting, root, page]);
  const isBlank = !isWaiting && !root && isEmpty(page);
  useEffect(() => {
    if (!isBlank || isDone.current) return;
    let isOld = false;
    const others = page?.streams.filter((one) => one !== page.stream) ?? [];
    void withText(id, others).then((stream) => stream !== undefined && !isOld && open(stream));
    return () => void (isOld = true);
  }, [isBlank]);
}
