// The list as a file: every run that matches, in the order and with the columns of the table, values bare.
import type { Column } from "../parts/run_columns.tsx";
import type { Run } from "../types.ts";
import { readPage, type Question } from "./listing.ts";

const PAGE_RUNS = 1000;

/** A cell; one that a spreadsheet would compute is marked as text. */
export function cell(value: string | number | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export async function saveList(asked: Question, columns: readonly Column[], tell: (done: number, total: number) => void): Promise<void> {
  const kept = columns.filter((column) => !column.line && column.name !== "health");
  const lines = [["run_id", ...kept.map((column) => column.name)].join(",")];
  let cursor: string | null = null;
  do {
    const page = await readPage(asked, { limit: PAGE_RUNS, cursor });
    lines.push(...page.runs.map((run) => line(run, kept)));
    tell(lines.length - 1, page.total);
    cursor = page.next;
  } while (cursor !== null);
  save(`${lines.join("\n")}\n`);
}

function line(run: Run, columns: readonly Column[]): string {
  return [cell(run.run_id), ...columns.map((column) => cell(column.plain?.(run)))].join(",");
}

function save(text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = "runs.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
