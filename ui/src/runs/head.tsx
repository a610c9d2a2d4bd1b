// The head of the runs table: sorts by a click, moves columns by dragging or Alt with arrows, widens them by their edge.
import { useRef, useState } from "preact/hooks";
import { setQuery } from "../router.ts";
import type { Column } from "../parts/run_columns.tsx";
import { moveColumn, setWidth, widthOf } from "./layout.ts";

export interface Sorted {
  sort: string;
  order: string;
}

interface HeadProps extends Sorted {
  columns: readonly Column[];
  style: { gridTemplateColumns: string; minWidth: string };
  picked: "all" | "some" | "none";
  pickAll: () => void;
}

export function Head({ columns, style, sort, order, picked, pickAll }: HeadProps) {
  const [dragged, setDragged] = useState<string | null>(null);
  return (
    <div class="head" role="row" style={style}>
      <span role="columnheader" class="cell pick">
        <input
          type="checkbox"
          aria-label="Pick all that are loaded"
          checked={picked === "all"}
          ref={(box) => {
            if (box) box.indeterminate = picked === "some";
          }}
          onChange={pickAll}
        />
      </span>
      {columns.map((column, place) => (
        <span
          key={column.name}
          role="columnheader"
          class={`${column.isNumber ? "number" : ""}${dragged === column.name ? " dragged" : ""}`}
          aria-sort={sort === column.sort ? (order === "asc" ? "ascending" : "descending") : "none"}
          onDragOver={(event) => dragged && event.preventDefault()}
          onDrop={(event) => {
            event.preventDefault();
            if (dragged) moveColumn(dragged, place);
            setDragged(null);
          }}
        >
          <Title {...{ column, place, sort, order, setDragged }} />
          <Edge column={column} />
        </span>
      ))}
    </div>
  );
}

interface TitleProps extends Sorted {
  column: Column;
  place: number;
  setDragged: (name: string | null) => void;
}

function Title({ column, place, sort, order, setDragged }: TitleProps) {
  const arrow = sort === column.sort ? (order === "asc" ? " ↑" : " ↓") : "";
  return (
    <button
      type="button"
      draggable
      title={`${column.sort ? "click: sort; " : ""}drag or Alt+arrows: move`}
      aria-disabled={column.sort ? undefined : true}
      onClick={() => column.sort && setQuery(turnedSort(column.sort, sort, order))}
      onDragStart={(event) => {
        event.dataTransfer?.setData("text/plain", column.name);
        setDragged(column.name);
      }}
      onDragEnd={() => setDragged(null)}
      onKeyDown={(event) => {
        if (!event.altKey || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return;
        event.preventDefault();
        moveColumn(column.name, place + (event.key === "ArrowLeft" ? -1 : 1));
      }}
    >
      {column.title}
      {arrow}
    </button>
  );
}

function turnedSort(field: string, sort: string, order: string): Record<string, string | null> {
  return { sort: field, order: sort === field && order === "desc" ? "asc" : null };
}

const STEP_PIXELS = 16;

function Edge({ column }: { column: Column }) {
  const began = useRef<{ x: number; pixels: number } | null>(null);
  return (
    <span
      class="edge"
      role="separator"
      aria-orientation="vertical"
      aria-label={`Width of ${column.title}`}
      aria-valuenow={Math.round(widthOf(column))}
      tabIndex={0}
      title="drag or arrows: width; double click: as it was"
      onDblClick={() => setWidth(column, null)}
      onPointerDown={(event) => {
        event.preventDefault();
        const cell = event.currentTarget.parentElement as HTMLElement;
        began.current = { x: event.clientX, pixels: cell.offsetWidth };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        if (began.current) setWidth(column, began.current.pixels + event.clientX - began.current.x);
      }}
      onPointerUp={() => (began.current = null)}
      onKeyDown={(event) => {
        if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
        event.preventDefault();
        event.stopPropagation();
        const cell = event.currentTarget.parentElement as HTMLElement;
        setWidth(column, cell.offsetWidth + (event.key === "ArrowLeft" ? -STEP_PIXELS : STEP_PIXELS));
      }}
    />
  );
}
