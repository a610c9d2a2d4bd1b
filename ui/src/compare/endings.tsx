// How the compared runs ended: why, with which exit status, and how well; the first rows of their numbers.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get } from "../api.ts";
import { Health } from "../parts/bits.tsx";
import { exitOf } from "../parts/run_columns.tsx";
import { inWords } from "../runs/causes.ts";
import type { Report, Run } from "../types.ts";

type Ended = Pick<Report, "verdict" | "health">;
type Reports = Readonly<Record<string, Ended>>;

/** Read why runs ended, each as soon as it is known; one that cannot be analysed stays empty. */
export function useEndings(runs: readonly Run[]): Reports {
  const [found, setFound] = useState<Reports>({});
  useEffect(() => {
    const abort = new AbortController();
    for (const { run_id } of runs.filter((run) => !(run.run_id in found))) {
      get<Ended>(`/api/v1/runs/${encodeURIComponent(run_id)}/report`, {}, abort.signal).then(
        (report) => setFound((before) => ({ ...before, [run_id]: report })),
        () => undefined, // its cells say that it is not known
      );
    }
    return () => abort.abort();
  }, [runs.map((run) => run.run_id).join()]);
  return found;
}

interface Row {
  title: string;
  texts: string[];
  cells: ComponentChildren[];
}

export function Endings({ runs, reports, onlyDifferent }: { runs: readonly Run[]; reports: Reports; onlyDifferent: boolean }) {
  return (
    <>
      {rows(runs, reports)
        .filter((row) => !onlyDifferent || new Set(row.texts).size > 1)
        .map((row) => (
          <tr key={row.title}>
            <th scope="row">{row.title}</th>
            {row.cells.map((cell, place) => (
              <td key={place} class="number worded">
                {cell}
                <small />
              </td>
            ))}
          </tr>
        ))}
    </>
  );
}

function rows(runs: readonly Run[], reports: Reports): Row[] {
  const verdicts = runs.map((run) => reports[run.run_id]?.verdict);
  const healths = runs.map((run) => reports[run.run_id]?.health);
  const exits = runs.map(exitOf);
  return [
    {
      title: "Why it ended",
      texts: verdicts.map((one) => one?.cause ?? ""),
      cells: verdicts.map((one, place) => one && runs[place]?.ended_at !== undefined && <span title={one.sentence}>{inWords(one.cause)}</span>),
    },
    { title: "Exit", texts: exits.map(String), cells: exits },
    { title: "Health", texts: healths.map(String), cells: healths.map((one) => one && <Health value={one} />) },
  ];
}
