// Steps as rows of a table: where each stands, and which is the best.
import type { Curve } from "../types.ts";

/** Steps that one answer of the server holds one by one. */
export const MOST_ROWS = 10_000;

/** Consecutive rows of the table: the steps from..to of the metric that was logged most often. */
export interface Piece {
  /** The row it begins at. */
  begin: number;
  count: number;
  from: number;
  to: number;
}

export interface StepRow {
  step: number;
  values: ReadonlyMap<string, number | string>;
}

export interface Best {
  metric: string;
  value: number;
  /** A step at or after it, in the same piece. */
  step: number;
}

/** The metric that was logged most often: every row is a step of it. */
export function longest(curves: readonly Curve[]): Curve | undefined {
  const count = (curve: Curve): number => curve.n.reduce((sum, one) => sum + one, 0);
  return curves.toSorted((one, other) => count(other) - count(one))[0];
}

/** Divide the rows as the server divided the steps; a loop that was resumed is one piece, since its steps come twice. */
export function pieces(curves: readonly Curve[]): Piece[] {
  const curve = longest(curves);
  if (!curve || curve.step.length === 0) return [];
  const total = curve.n.reduce((sum, one) => sum + one, 0);
  if (!curve.rising) return [{ begin: 0, count: Math.min(total, MOST_ROWS), from: Math.min(...curve.first_step, ...curve.step), to: Math.max(...curve.first_step, ...curve.step) }];
  let begin = 0;
  return curve.n.map((count, place) => {
    const piece = { begin, count, from: curve.first_step[place] ?? 0, to: curve.step[place] ?? 0 };
    begin += count;
    return piece;
  });
}

/** Join what was logged at the same steps as one metric, in the order of that. */
export function rowsOf(curves: readonly Curve[], metric: string): StepRow[] {
  const main = curves.find((curve) => curve.metric === metric);
  if (!main) return [];
  const beside = curves.filter((curve) => curve !== main).map((curve) => ({ metric: curve.metric, at: new Map(curve.step.map((step, place) => [step, curve.last[place]])) }));
  return main.step.map((step, place) => {
    const values = new Map<string, number | string>();
    const own = main.last[place];
    if (own !== undefined) values.set(main.metric, own);
    for (const { metric, at } of beside) {
      const value = at.get(step);
      if (value !== undefined) values.set(metric, value);
    }
    return { step, values };
  });
}

/** The best value of what is to become small, else of what is to become large. */
export function bestOf(curves: readonly Curve[]): Best | undefined {
  const loss = curves.find((curve) => /(eval|val|test).*loss/i.test(curve.metric)) ?? curves.find((curve) => /loss/i.test(curve.metric));
  if (loss) return extreme(loss, loss.min, (one, other) => one < other);
  const score = curves.find((curve) => /acc|reward|score|f1|auc/i.test(curve.metric));
  return score && extreme(score, score.max, (one, other) => one > other);
}

function extreme(curve: Curve, values: readonly (number | null)[], isBetter: (one: number, other: number) => boolean): Best | undefined {
  let best: Best | undefined;
  values.forEach((value, place) => {
    if (value === null || (best && !isBetter(value, best.value))) return;
    best = { metric: curve.metric, value, step: curve.step[place] ?? 0 };
  });
  return best;
}

/** Say in which row a step stands, or nearly: the piece it is in. */
export function placeOf(found: readonly Piece[], step: number): number | undefined {
  const piece = found.find((one) => step >= one.from && step <= one.to);
  if (!piece) return undefined;
  const share = piece.to === piece.from ? 0 : (step - piece.from) / (piece.to - piece.from);
  return piece.begin + Math.round(share * (piece.count - 1));
}
