// A job's output: from its end, or where it went wrong; followed while it runs, searched, with a way from error to error,
// the memory that the job had at each line, and a way from a line to that moment in the charts and back.
import { useSignalEffect } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import * as format from "../format.ts";
import { useMemoryAt } from "../run/memory_at.ts";
import { lookAt, moment, pickedBy, wantedLine, type LinePlace } from "../run/moment.ts";
import type { LogPage, Report } from "../types.ts";
import { Failed } from "./bits.tsx";
import { ErrorList, ErrorSteps, placed, rootOf } from "./output_errors.tsx";
import { Heads, Lines } from "./output_lines.tsx";
import { useOpening } from "./output_opening.ts";
import { isEmpty, lineAt, usePage, type Place } from "./output_pages.ts";

const NEAR_END_PIXELS = 40;

interface Given {
  id: string;
  isLive: boolean;
  /** It ended, and not as it should. */
  hasFailed: boolean;
  report: Report | undefined;
}

export function Output({ id, isLive, hasFailed, report }: Given) {
  const errors = report?.log_errors ?? [];
  const root = useMemo(() => report && rootOf(report), [report]);
  const [stream, setStream] = useState<string>();
  const [place, setPlace] = useState<Place>({ kind: "end" });
  const isTouched = useRef(false);
  /** The line goes into view, wherever on the page the reader is. */
  const isSought = useRef(false);
  const section = useRef<HTMLElement>(null);
  const { page, problem, add, again } = usePage(id, stream, place, isLive);
  const times = page?.lines.map((line) => format.epoch(line.timestamp ?? undefined)).filter((time) => time !== undefined) ?? [];
  const memoryAt = useMemoryAt(id, times[0], times.at(-1));
  /** The reader went somewhere: nothing takes them away from there. */
  const touch = (): void => void (isTouched.current = true);
  const show = (to: Place): void => {
    touch();
    setPlace(to);
  };
  const go = (to: LinePlace): void => {
    if (to.offset === undefined) return;
    if (to.stream && to.stream !== page?.stream) setStream(to.stream);
    isSought.current = true;
    show({ kind: "at", offset: to.offset });
  };
  const turnTo = (name: string): void => {
    touch();
    setStream(name);
    if (place.kind === "at") setPlace({ kind: "end" }); // where the one stands, something else stands in the other
  };
  useSignalEffect(() => {
    const picked = moment.value;
    if (picked === null || pickedBy.peek() === "output" || pickedBy.peek() === "line") return;
    const by = pickedBy.peek();
    let isOld = false;
    void lineAt(id, stream, picked).then((line) => {
      if (!line || isOld) return;
      show({ kind: "at", offset: line.offset });
      if (by === "chart") section.current?.scrollIntoView({ block: "nearest" });
    });
    return () => void (isOld = true);
  });
  useSignalEffect(() => {
    const line = wantedLine.value;
    if (line === null) return;
    wantedLine.value = null;
    go(line);
  });
  const open = (name: string, to: Place = { kind: "end" }): void => {
    setStream(name);
    setPlace(to);
  };
  useOpening({ id, page, isLive, root, hasFailed, isTouched: isTouched.current, open });
  if (page && page.stream === null) {
    return page.reason ? <p class="muted">No output is kept: {page.reason}.</p> : null;
  }
  const shown = placed(errors);
  // until its page is here, lines of another one stand there
  const isHere = place.kind === "at" && page !== undefined && (stream ?? page.stream) === page.stream && place.offset < page.next;
  const at = isHere ? place.offset : undefined;
  return (
    <section class="panel output" aria-label="Output" ref={section}>
      <div class="title">
        <h2>Output</h2>
        {(page?.streams ?? []).map((name) => (
          <button type="button" key={name} class={name === page?.stream ? "main" : "quiet"} aria-pressed={name === page?.stream} onClick={() => turnTo(name)}>
            {name}
          </button>
        ))}
        {isLive && place.kind === "end" && <span class="badge live">follows</span>}
        <span class="grow" />
        <ErrorSteps errors={shown} at={place.kind === "at" && !place.isOpening ? place.offset : undefined} stream={page?.stream ?? undefined} go={go} />
        <Search setPlace={show} found={place.kind === "search" ? page : undefined} />
        {place.kind !== "end" && (
          <button type="button" onClick={() => show({ kind: "end" })}>
            To the end
          </button>
        )}
      </div>
      <ErrorList errors={errors} go={go} />
      {page?.reason && <p class="muted">{page.reason}.</p>}
      {problem && <Failed problem={problem} again={again} />}
      {page && page.lines.length > 0 && <Heads hasMemory={times.some((time) => memoryAt(time) !== undefined)} hasTimes={times.length > 0} />}
      <Scrolled page={page} place={place} isSought={isSought} onTouch={touch}>
        {page && isEmpty(page) && place.kind !== "search" && <span class="muted">{`${page.stream} is empty${isLive ? " so far" : ""}`}</span>}
        {page && page.begin > 0 && place.kind !== "search" && <More text="Earlier lines" onClick={() => void add("before")} />}
        <Lines
          lines={page?.lines ?? []}
          tail={place.kind === "search" ? null : (page?.tail ?? null)}
          at={at}
          search={place.kind === "search" ? place.text : ""}
          bad={new Set(shown.filter((error) => !error.stream || error.stream === page?.stream).map((error) => error.offset))}
          memoryAt={memoryAt}
          onLine={place.kind === "search" ? (line) => go({ offset: line.offset }) : undefined}
          onMoment={(time) => lookAt(time, "output")}
        />
        {page && page.next < page.size_bytes && place.kind !== "end" && <More text="Later lines" onClick={() => void add("after")} />}
      </Scrolled>
    </section>
  );
}

function More({ text, onClick }: { text: string; onClick: () => void }) {
  return (
    <button type="button" class="quiet" onClick={onClick}>
      {text}
    </button>
  );
}

function Search({ setPlace, found }: { setPlace: (place: Place) => void; found: LogPage | undefined }) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const ask = (text: string): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setPlace(text ? { kind: "search", text } : { kind: "end" }), 250);
  };
  return (
    <>
      <span class="muted" role="status">
        {found && `${found.lines.length}${found.next < found.size_bytes ? "+" : ""} line${found.lines.length === 1 ? "" : "s"}`}
      </span>
      <input type="search" placeholder="Search the output" aria-label="Search the output" onInput={(event) => ask(event.currentTarget.value)} />
    </>
  );
}

interface ScrolledProps {
  page: LogPage | undefined;
  place: Place;
  isSought: { current: boolean };
  /** The reader did something in it. */
  onTouch: () => void;
  children: preact.ComponentChildren;
}

/** Lines in a box that stays at its end while the reader is there, and goes to the line that was asked for. */
function Scrolled({ page, place, isSought, onTouch, children }: ScrolledProps) {
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  const shown = useRef("");
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !page) return;
    const key = JSON.stringify(place);
    const target = place.kind === "at" ? element.querySelector<HTMLElement>(".at") : null;
    if (place.kind === "end" && (isAtEnd.current || shown.current !== key)) element.scrollTop = element.scrollHeight;
    // the box moves, the page stays
    else if (target && (isSought.current || shown.current !== key)) element.scrollTop = target.offsetTop - element.offsetTop - element.clientHeight / 2;
    else if (!target && place.kind === "at") return;
    shown.current = key;
    // unless a line was asked for from elsewhere
    if (target && isSought.current) element.scrollIntoView({ block: "nearest" });
    isSought.current &&= target === null;
  }, [page, place]);
  return (
    <pre
      ref={box}
      tabIndex={0}
      role="group"
      aria-label="Lines of the output"
      onScroll={(event) => {
        const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
        isAtEnd.current = scrollTop + clientHeight >= scrollHeight - NEAR_END_PIXELS;
      }}
      onWheel={onTouch}
      onPointerDown={onTouch}
      onKeyDown={onTouch}
    >
      {children}
    </pre>
  );
}
