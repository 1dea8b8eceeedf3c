/** Verdicts: our figures next to those of the peers. */
import type { Row } from "./_runner.ts";
import type { Goal, Situation } from "./_situation.ts";

export interface Verdict {
  readonly situation: string;
  /** For peers: their best figure over ours. For floors: ours over theirs. For values: ours. */
  readonly ratio: number;
  readonly goal: Goal;
  /** The contender that it is compared with. */
  readonly with: string;
  readonly met: boolean;
}

/** The verdicts on the goals of a situation that have a contender to compare with. */
export function verdictsOf({ name, goals = [], ours }: Situation, rows: readonly Row[]): Verdict[] {
  const mine = rows.find(({ situation, contender }) => situation === name && contender === Object.keys(ours)[0]);
  return mine === undefined ? [] : goals.flatMap((goal) => verdictOf(name, goal, mine, rows) ?? []);
}

function verdictOf(name: string, goal: Goal, mine: Row, rows: readonly Row[]): Verdict | undefined {
  if (goal.against === "value") {
    return { situation: name, ratio: mine.median, goal, with: "", met: mine.median <= goal.ratio };
  }
  const best = rows.filter((row) => row.situation === name && row.kind === goal.against)
    .filter(({ contender }) => goal.named === undefined || goal.named.includes(contender))
    .sort((a, b) => a.median - b.median)[0];
  if (best === undefined) return undefined;
  const ratio = goal.against === "peer" ? best.median / mine.median : mine.median / best.median;
  return {
    situation: name,
    ratio,
    goal,
    with: best.contender,
    met: goal.against === "peer" ? ratio >= goal.ratio : ratio <= goal.ratio,
  };
}

/** As a goal is written. */
export function goalText({ against, ratio }: Goal): string {
  return against === "peer" ? `≥ ${ratio}` : `≤ ${ratio.toLocaleString("en")}`;
}

/** With as many digits as say something. */
export function figure(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString("en");
  return value >= 10 ? value.toFixed(0) : value.toFixed(2);
}
