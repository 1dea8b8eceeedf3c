/** Rows of the tables that `deno task shutdown-load` prints. */
import type { ProgramName } from "./runtimes.ts";

/** What is served on which run-time. */
export const SERVERS: [name: string, runtime: ProgramName, kind: "fetch" | "node"][] = [
  ["node:http on Node 20", "node20", "node"],
  ["node:http on the newest Node", "node", "node"],
  ["Deno.serve", "deno", "fetch"],
  ["node:http on Deno", "deno", "node"],
  ["Bun.serve", "bun", "fetch"],
  ["node:http on Bun", "bun", "node"],
];

/** How the servers are loaded. */
export interface TableOptions {
  rounds: number;
  seed: number;
  connections: number;
  /** Whether a row is asked for, by its name. */
  wanted(row: string): boolean;
}

/** Prints one table. */
export type Part = (options: TableOptions) => Promise<Table>;

/** One row, by column. */
export type Row = Record<string, string | number>;

/** Prints a table row by row, as they are found. */
export class Table {
  #columns: string[] | undefined;
  /** How many rows kept their promise, and broke it. */
  readonly count = { kept: 0, broken: 0 };

  /** @param isKept Whether the row has kept its promise. */
  add(row: Row, isKept: boolean): void {
    if (this.#columns === undefined) {
      this.#columns = Object.keys(row);
      this.#print(this.#columns);
      this.#print(Object.values(row).map((value) => typeof value === "number" ? "--:" : "---"));
    }
    this.#print(this.#columns.map((column) => String(row[column])));
    this.count[isKept ? "kept" : "broken"]++;
    if (!isKept) console.log("  ↑ broke a promise");
  }

  #print(cells: readonly string[]): void {
    console.log(`| ${cells.join(" | ")} |`);
  }
}

/** "2 GET 502, 1 POST 502", or "0". */
export function failuresOf(failures: Record<string, number>): string {
  return Object.entries(failures).map(([what, times]) => `${times} ${what}`).join(", ") || "0";
}

/** The number of all failures. */
export function sum(failures: Record<string, number>): number {
  return Object.values(failures).reduce((total, times) => total + times, 0);
}
