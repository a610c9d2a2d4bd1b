import "../node_modules/uplot/dist/uPlot.min.css";
import "./style.css";
import { effect } from "@preact/signals";
import { Component, render, type ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "./api.ts";
import { keep, refused, token } from "./auth.ts";
import { go, path } from "./router.ts";
import { choice, cycle } from "./theme.ts";
import { Empty, Failed } from "./parts/bits.tsx";
import { open, Overlays } from "./parts/overlays.tsx";
import { Campaigns } from "./pages/campaigns.tsx";
import { Compare } from "./pages/compare.tsx";
import { Live } from "./pages/live.tsx";
import { Run } from "./pages/run.tsx";
import { prepare } from "./run/charts.tsx";
import { Runs } from "./pages/runs.tsx";
import { Sizing } from "./pages/sizing.tsx";

const PAGES = [
  { path: "/", title: "Runs" },
  { path: "/live", title: "Live" },
  { path: "/campaigns", title: "Campaigns" },
  { path: "/sizing", title: "Sizing" },
] as const;

/** Readers of another page begin at its top, also those who go by keys or by ear. */
function useFocus(): void {
  const before = useRef(path.value);
  useEffect(() => {
    if (before.current !== path.value) document.getElementById("main")?.focus({ preventScroll: true });
    before.current = path.value;
  }, [path.value]);
}

function App() {
  useFocus();
  if (refused.value) return <AskToken />;
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        To the content
      </a>
      <header class="bar">
        <a class="brand" href="/">
          jobmeter
        </a>
        <nav aria-label="Pages">
          {PAGES.map((page) => (
            <a key={page.path} href={page.path} aria-current={path.value === page.path ? "page" : undefined}>
              {page.title}
            </a>
          ))}
        </nav>
        <span class="grow" />
        <button type="button" class="quiet" onClick={() => (open.value = "palette")} title="go anywhere" aria-label="Go anywhere, Ctrl+K">
          <span aria-hidden="true">⌕</span>
          <span class="keyed"> Ctrl+K</span>
        </button>
        <button type="button" class="quiet" onClick={() => (open.value = "help")} title="keys" aria-label="Keys">
          ?
        </button>
        <button type="button" class="quiet" onClick={cycle} title="light, dark, or as the system says" aria-label={`Theme: ${choice.value}`}>
          <span aria-hidden="true">◐</span>
          <span class="keyed"> {choice.value}</span>
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        <Guarded key={path.value}>
          <Page />
        </Guarded>
      </main>
      <Overlays />
    </>
  );
}

function Page() {
  const run = /^\/jobs\/([^/]+)$/.exec(path.value)?.[1];
  if (run !== undefined) return <Run id={decodeURIComponent(run)} key={run} />;
  if (path.value === "/") return <Runs />;
  if (path.value === "/compare") return <Compare />;
  if (path.value === "/live") return <Live />;
  if (path.value === "/campaigns") return <Campaigns />;
  if (path.value === "/sizing") return <Sizing />;
  return (
    <Empty title="There is no such page">
      <p>
        Press <kbd>Ctrl+K</kbd> to go anywhere, or see <a href="/">all runs</a>.
      </p>
    </Empty>
  );
}

function AskToken() {
  const [text, setText] = useState("");
  return (
    <Empty title={token.value ? "The token was refused" : "This server wants a token"}>
      <p>
        <code>jobmeter ui</code> opens the page with it; <code>jobmeter token create</code> makes one for somebody else.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          keep(text.trim());
          go(location.pathname + location.search, { replace: true });
        }}
      >
        <input aria-label="Token" type="password" value={text} onInput={(event) => setText(event.currentTarget.value)} />{" "}
        <button type="submit" class="main">
          Go on
        </button>
      </form>
    </Empty>
  );
}

/** A page that breaks says so and leaves the rest standing. */
class Guarded extends Component<{ children: ComponentChildren }, { broken?: string }> {
  static override getDerivedStateFromError(error: unknown): { broken: string } {
    return { broken: error instanceof Error ? error.message : String(error) };
  }

  override render() {
    const { broken } = this.state;
    if (broken === undefined) return this.props.children;
    return <Failed problem={new Problem(0, `this page broke: ${broken}`, "loading it again may help; the runs are not touched")} again={() => location.reload()} />;
  }
}

function skip(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

effect(() => {
  const title = PAGES.find((page) => page.path === path.value)?.title ?? (path.value === "/compare" ? "Compare" : undefined);
  if (title) document.title = `${title} · jobmeter`;
});

// a link to a run: what its charts begin with is asked for before the page is made
const linked = /^\/jobs\/(\d{8}T\d{6}Z-\w+)$/.exec(path.peek())?.[1];
if (linked !== undefined && token.peek()) prepare(linked);

render(<App />, document.getElementById("app") as HTMLElement);
