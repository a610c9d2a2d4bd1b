// The one line to find runs by: words or a filter, with what may come next offered while it is written.
import { useEffect, useRef, useState } from "preact/hooks";
import { useLoaded } from "../load.ts";
import { setQuery } from "../router.ts";
import type { Facets } from "../types.ts";
import { countedField, offers, placeAt, type Offer } from "./complete.ts";
import { isUnfinished, type Fields } from "./grammar.ts";

/** A pause between two letters of somebody who writes: short, for rows shall be there at once. */
const SETTLE_MILLISECONDS = 60;

export function Search({ q, fields }: { q: string; fields: Fields }) {
  const [text, setText] = useState(q);
  const [caret, setCaret] = useState<number | null>(null);
  const [at, setAt] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  const settle = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const sent = useRef(q);
  useEffect(() => {
    if (q === sent.current) return; // what was asked for is written already, perhaps with more behind it
    sent.current = q;
    setText(q);
  }, [q]);
  const ask = (next: string): void => {
    sent.current = next.trim();
    setQuery({ q: sent.current });
  };
  const change = (next: string, where: number | null): void => {
    setText(next);
    setCaret(where);
    setAt(-1);
    clearTimeout(settle.current);
    if (!isUnfinished(next, fields)) settle.current = setTimeout(() => ask(next), SETTLE_MILLISECONDS);
  };
  const found = useOffers(text, caret, fields);
  const take = (offer: Offer): void => {
    const next = text.slice(0, offer.begin) + offer.insert + text.slice(offer.end).trimStart();
    const end = offer.begin + offer.insert.length;
    const line = input.current;
    if (line) {
      // now, not with the next frame: a letter that comes before it would push the caret away
      line.value = next;
      line.focus();
      line.setSelectionRange(end, end);
    }
    change(next, end);
  };
  const key = (event: KeyboardEvent): void => {
    const chosen = found[at];
    // a filter that is whole lets go: Tab adds nothing to it that was not chosen
    const taken = chosen ?? (found[0]?.kind === "join" ? undefined : found[0]);
    if (event.key === "ArrowDown" && found.length) setAt((at + 1) % found.length);
    else if (event.key === "ArrowDown") setCaret(input.current?.selectionStart ?? text.length);
    else if (event.key === "ArrowUp" && found.length) setAt((at + found.length - 1) % found.length);
    else if (event.key === "Tab" && !event.shiftKey && taken) take(taken);
    else if (event.key === "Enter" && chosen) take(chosen);
    else if (event.key === "Enter") {
      clearTimeout(settle.current);
      setCaret(null);
      ask(text);
    } else if (event.key === "Escape" && found.length) setCaret(null);
    else if (event.key === "Escape") input.current?.blur();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="combo">
      <input
        id="search"
        ref={input}
        type="search"
        list={undefined} // a combobox of ours: the types ask for a word about the browser's own list
        role="combobox"
        aria-expanded={found.length > 0}
        aria-controls="search-offers"
        aria-autocomplete="list"
        aria-activedescendant={at >= 0 ? `offer-${at}` : undefined}
        aria-describedby="search-state"
        value={text}
        placeholder="Search, or filter: status=failed and wall>2h"
        aria-label="Search or filter runs"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => change(event.currentTarget.value, event.currentTarget.selectionStart)}
        onKeyDown={key}
        onBlur={() => setCaret(null)}
      />
      <span id="search-state" class="muted state">
        {isUnfinished(text, fields) && sent.current !== text.trim() ? "unfinished" : ""}
      </span>
      <Offers {...{ found, at, take }} />
    </div>
  );
}

function Offers({ found, at, take }: { found: readonly Offer[]; at: number; take: (offer: Offer) => void }) {
  return (
    <ul id="search-offers" class="offers" role="listbox" aria-label="What may come next" hidden={found.length === 0}>
      {found.map((offer, place) => (
        <li
          key={offer.text}
          id={`offer-${place}`}
          role="option"
          aria-selected={place === at}
          // before the line loses the focus, and with it the list
          onMouseDown={(event) => {
            event.preventDefault();
            take(offer);
          }}
        >
          <code>{offer.text}</code> <span class="muted">{offer.note}</span>
        </li>
      ))}
    </ul>
  );
}

function useOffers(text: string, caret: number | null, fields: Fields): Offer[] {
  const place = caret === null ? undefined : placeAt(text, caret, fields);
  const field = place && countedField(place);
  const values = useLoaded<Facets>(field ? "/api/v1/runs/facets" : null, { names: field });
  if (!place || (place.kind === "field" && !place.sofar)) return [];
  if (place.kind === "join" && !text.slice(0, place.begin).endsWith(" ")) return [];
  return offers(place, fields, (field && values.data?.facets[field]) || []);
}
