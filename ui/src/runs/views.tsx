// Views: what the address says, under a name, in this browser. A view is a link, and whoever opens it sees the same.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { query } from "../router.ts";
import { copy, NOT_COPIED } from "../parts/bits.tsx";
import { tell } from "../parts/overlays.tsx";
import { Menu } from "./menu.tsx";

const KEY = "jobmeter.runs.views";

interface View {
  name: string;
  search: string;
}

const views = signal<readonly View[]>(read());

function read(): View[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter(isView) : [];
  } catch {
    return []; // somebody else wrote there
  }
}

function isView(found: unknown): found is View {
  const view = found as Partial<View> | null;
  return typeof view?.name === "string" && typeof view.search === "string";
}

function keep(next: readonly View[]): void {
  views.value = next;
  localStorage.setItem(KEY, JSON.stringify(next));
}

async function copyLink(): Promise<void> {
  const isDone = await copy(location.href);
  tell({ text: isDone ? "The link to this view is copied" : `${NOT_COPIED}: take the link from the address bar` });
}

export function Views() {
  const [name, setName] = useState("");
  const search = query.value.toString();
  const current = views.value.find((view) => view.search === search);
  const remove = (view: View): void => {
    const before = views.value;
    keep(before.filter((one) => one !== view));
    tell({ text: `the view ${view.name} is gone`, undo: () => keep(before) });
  };
  return (
    <Menu title={current ? `View: ${current.name}` : "Views"}>
      {views.value.length === 0 && <p class="muted">A filter, an order and columns that you come back to.</p>}
      {views.value.map((view) => (
        <p class="view" key={view.name}>
          <a href={view.search ? `/?${view.search}` : "/"} aria-current={view === current ? "true" : undefined}>
            {view.name}
          </a>
          <button type="button" class="quiet" aria-label={`forget the view ${view.name}`} onClick={() => remove(view)}>
            ×
          </button>
        </p>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const given = name.trim();
          if (!given) return;
          keep([...views.value.filter((view) => view.name !== given), { name: given, search }].sort((one, two) => one.name.localeCompare(two.name)));
          setName("");
        }}
      >
        <input aria-label="Name of the view" placeholder="Name" value={name} onInput={(event) => setName(event.currentTarget.value)} />
        <button type="submit">Save</button>
      </form>
      <button
        type="button"
        onClick={() => void copyLink()}
      >
        Copy link
      </button>
    </Menu>
  );
}
