import "../node_modules/uplot/dist/uPlot.min.css";
import "./style.css";
import { render } from "preact";
import { useState } from "preact/hooks";
import { keep, refused, token } from "./auth.ts";
import { go, isWriting, path } from "./router.ts";
import { choice, cycle } from "./theme.ts";
import { Empty } from "./parts/bits.tsx";
import { open, Overlays } from "./parts/overlays.tsx";
import { Campaigns } from "./pages/campaigns.tsx";
import { Compare } from "./pages/compare.tsx";
import { Live } from "./pages/live.tsx";
import { Run } from "./pages/run.tsx";
import { Runs } from "./pages/runs.tsx";
import { Sizing } from "./pages/sizing.tsx";

const PAGES = [
  { path: "/", title: "Runs" },
  { path: "/live", title: "Live" },
  { path: "/campaigns", title: "Campaigns" },
  { path: "/sizing", title: "Sizing" },
] as const;

function App() {
  if (refused.value) return <AskToken />;
  return (
    <>
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
        <button type="button" class="quiet" onClick={() => (open.value = "palette")} title="go anywhere">
          Ctrl+K
        </button>
        <button type="button" class="quiet" onClick={() => (open.value = "help")} title="keys" aria-label="Keys">
          ?
        </button>
        <button type="button" class="quiet" onClick={cycle} title="light, dark, or as the system says">
          {choice.value}
        </button>
      </header>
      <main>
        <Page />
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
        <a href="/">All runs</a>
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

addEventListener("keydown", (event) => {
  if (isWriting(event)) return;
  if (event.key === "/") {
    document.getElementById("search")?.focus();
    event.preventDefault();
  }
});

render(<App />, document.getElementById("app") as HTMLElement);
