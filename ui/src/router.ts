// Where the reader is: path and query of the address bar as signals. The whole view stands in the URL, so that a
// link brings another person to what one sees.
import { computed, signal } from "@preact/signals";

export const path = signal(location.pathname);
const search = signal(location.search);

export const query = computed(() => new URLSearchParams(search.value));

addEventListener("popstate", () => {
  path.value = location.pathname;
  search.value = location.search;
});

export function go(to: string, { replace = false } = {}): void {
  const target = new URL(to, URL.canParse(to, location.href) ? location.href : "http://nowhere"); // in a frame, nothing is
  if (target.pathname + target.search === path.value + search.value) return;
  history[replace ? "replaceState" : "pushState"](null, "", target.pathname + target.search);
  const moved = path.value !== target.pathname;
  path.value = target.pathname;
  search.value = target.search;
  if (moved) scrollTo(0, 0);
}

/** The run that is looked at, by its very id; the address may name its job. */
export const openRun = signal<string | null>(null);

/** Change some words of the query; an empty one goes. */
export function setQuery(changes: Record<string, string | null>, { replace = true } = {}): void {
  const next = new URLSearchParams(search.value);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  const text = next.toString();
  go(text ? `${path.value}?${text}` : path.value, { replace });
}

/** Follow links of ours without loading the page again. */
addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest?.("a[href]");
  if (!(link instanceof HTMLAnchorElement) || link.target || link.hasAttribute("download")) return;
  if (link.origin !== location.origin || link.pathname.startsWith("/api/")) return;
  event.preventDefault();
  go(link.pathname + link.search);
});

/** Tell whether somebody is writing: letters are then no shortcuts. */
export function isWriting(event: KeyboardEvent): boolean {
  const field = (event.target as HTMLElement | null)?.closest?.("input, textarea, select");
  return field !== null && field !== undefined && !(field instanceof HTMLInputElement && field.type === "checkbox");
}
