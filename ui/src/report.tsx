// A run's page as one file: the same panels, over answers that lie in the file itself.
import "./saved/shelter.ts";
import "../node_modules/uplot/dist/uPlot.min.css";
import "./style.css";
import "./style/report.css";
import { render } from "preact";
import { answerFrom } from "./api.ts";
import * as format from "./format.ts";
import { Run } from "./pages/run.tsx";
import { answering, read, type Kept } from "./saved/answers.ts";
import { choice, cycle } from "./theme.ts";

function Saved({ kept }: { kept: Kept }) {
  const at = format.epoch(kept.made_at);
  return (
    <div class="saved">
      <main>
        <Run id={kept.run_id} />
        <footer>
          <span>
            {kept.made_by}
            {at !== undefined && `, ${format.moment(at)}`}
          </span>
          {kept.lines_left_out > 0 && (
            <span>
              {kept.lines_left_out.toLocaleString("en")} more lines of charts are not kept here: jobmeter ui shows the run itself
            </span>
          )}
          <span class="grow" />
          <button type="button" class="quiet" onClick={cycle} title="light, dark, or as the system says">
            {choice.value}
          </button>
        </footer>
      </main>
    </div>
  );
}

// links lead to other pages of a server, which is not there
addEventListener(
  "click",
  (event) => {
    if ((event.target as Element | null)?.closest?.('a[href^="/"]')) event.preventDefault();
  },
  { capture: true },
);

const kept = await read(document.getElementById("answers"));
answerFrom(answering(kept), format.epoch(kept.made_at));
render(<Saved kept={kept} />, document.getElementById("app") as HTMLElement);
