// One fact that a verdict or an advice stands on: what, from where, when.
import * as format from "../format.ts";
import { sentence } from "../parts/bits.tsx";
import type { Evidence } from "../types.ts";
import { lookAt } from "./moment.ts";

export function Fact({ fact }: { fact: Evidence }) {
  const at = format.epoch(fact.timestamp);
  return (
    <li>
      {sentence(fact.sentence)}{" "}
      {fact.source && <code>{fact.source}</code>}{" "}
      {at !== undefined && (
        <button type="button" class="quiet when" title="show this moment in the charts" onClick={() => lookAt(at)}>
          {format.moment(at).slice(11)}
        </button>
      )}
      {fact.quote && <blockquote title={fact.quote}>{fact.quote}</blockquote>}
    </li>
  );
}
