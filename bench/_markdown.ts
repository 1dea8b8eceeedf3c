/** What the three pages of figures share: the suites that they show, and Markdown. */
import type { Results, Run } from "./_results.ts";
import type { Row } from "./_runner.ts";
import type { Described } from "./_situation.ts";

/** One suite: its situations, and the sessions in which they were measured, the quiet one first. */
export interface Suite {
  readonly title: string;
  readonly situations: readonly Described[];
  readonly sessions: readonly Results[];
}

export function runTimesOf({ sessions }: Suite): string[] {
  return [...new Set(sessions.flatMap(({ runs }) => Object.keys(runs)))];
}

export function runsOf({ sessions }: Suite, runTime: string): Run[] {
  return sessions.flatMap(({ runs }) => runs[runTime] ?? []);
}

/** The rows of the quiet session, of all contenders in one process. */
export function rowsOf(suite: Suite, runTime: string): readonly Row[] {
  return runsOf(suite, runTime)[0]?.rows ?? [];
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, i) => i === 0 ? "---" : "--:")), ...rows.map(line)].join("\n") + "\n";
}

/** With as many digits as say something. */
export function figure(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString("en");
  return value >= 10 ? value.toFixed(0) : value.toFixed(2);
}
