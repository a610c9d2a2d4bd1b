// One fact that a verdict or an advice stands on: what, from where, when.
import * as format from "../format.ts";
import { sentence } from "../parts/bits.tsx";
import type { Evidence } from "../types.ts";
import { lookAt, showLine } from "./moment.ts";

export function Fact({ fact }: { fact: Evidence }) {
  const at = format.epoch(fact.timestamp);
  return (
    <li>
      {sentence(fact.sentence)}{" "}
      {fact.source && <Source source={fact.source} offset={fact.offset} />}{" "}
      {at !== undefined && (
        <button type="button" class="quiet when" title="show this moment in the charts" onClick={() => lookAt(at)}>
          {format.moment(at).slice(11)}
        </button>
      )}
      {fact.quote && <blockquote title={fact.quote}>{fact.quote}</blockquote>}
    </li>
  );
}

/** Where it was read: of a line of the output the way there. */
function Source({ source, offset }: { source: string; offset: number | undefined }) {
  if (offset === undefined) return <code>{source}</code>;
  return (
    <button type="button" class="link" title="show this line of the output" onClick={() => showLine({ stream: source === "log" ? undefined : source, offset })}>
      <code>{source}</code>
    </button>
  );
}
