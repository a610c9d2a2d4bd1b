// Which columns, in which order: a list to tick and to move in, for those who drag nothing.
import { columnNamed, COLUMNS, type Column } from "../parts/run_columns.tsx";
import type { Fields } from "./grammar.ts";
import { moveColumn, reset, toggleColumn } from "./layout.ts";
import { Menu } from "./menu.tsx";

export function Chooser({ columns, fields }: { columns: readonly Column[]; fields: Fields }) {
  const metrics = [...fields.values()].filter((one) => one.holds === "a number, or NaN").map((one) => one.name.replace(/^metric\./, ""));
  const others = [...COLUMNS, ...metrics.flatMap((name) => columnNamed(`metric.${name}`) ?? [])].filter(
    (one) => !columns.some((shown) => shown.name === one.name),
  );
  return (
    <Menu title="Columns">
      <div class="ticks" role="group" aria-label="Columns that are shown">
        {columns.map((column, place) => (
          <div key={column.name}>
            <Tick column={column} isShown />
            <button type="button" class="quiet" aria-label={`move ${column.title} up`} disabled={place === 0} onClick={() => moveColumn(column.name, place - 1)}>
              ↑
            </button>
            <button
              type="button"
              class="quiet"
              aria-label={`move ${column.title} down`}
              disabled={place === columns.length - 1}
              onClick={() => moveColumn(column.name, place + 1)}
            >
              ↓
            </button>
          </div>
        ))}
      </div>
      <div class="ticks" role="group" aria-label="Columns that are not">
        {others.map((column) => (
          <div key={column.name}>
            <Tick column={column} isShown={false} />
          </div>
        ))}
      </div>
      <button type="button" onClick={reset}>
        As at first
      </button>
    </Menu>
  );
}

const LINES = { memory: "over time", cpu: "over time", loss: "over steps" } as const;

function Tick({ column, isShown }: { column: Column; isShown: boolean }) {
  return (
    <label>
      <input type="checkbox" checked={isShown} onChange={() => toggleColumn(column.name)} />
      {column.title}
      {column.line && <span class="muted"> {LINES[column.line]}</span>}
    </label>
  );
}
