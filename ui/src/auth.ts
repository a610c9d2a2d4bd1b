// The token of this tab: from the link's fragment, kept in sessionStorage, sent as a bearer token. No cookie: cookies
// ignore ports, and a neighbour's server on the same host would receive them.
import { signal } from "@preact/signals";

const KEY = "jobmeter.token";

export const token = signal(taken() ?? sessionStorage.getItem(KEY) ?? "");

/** Whether the server wants a token that it did not get. */
export const refused = signal(false);

function taken(): string | undefined {
  const found = /^#token=([\w.~+/=-]+)$/.exec(location.hash)?.[1];
  if (found === undefined) return undefined;
  sessionStorage.setItem(KEY, found);
  // out of the address bar, the history and whatever is copied from them
  history.replaceState(history.state, "", location.pathname + location.search);
  return found;
}

// a link with another token, opened where the page already is: nothing is loaded anew
addEventListener("hashchange", () => {
  const found = taken();
  if (found !== undefined) keep(found);
});

export function keep(given: string): void {
  sessionStorage.setItem(KEY, given);
  token.value = given;
  refused.value = false;
}
