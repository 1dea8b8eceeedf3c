/** Rows of the tables that `deno task shutdown-load` prints. */

/** How the servers are loaded. */
export interface TableOptions {
  rounds: number;
  seed: number;
  connections: number;
  /** Whether a row is asked for, by its name. */
  wanted(row: string): boolean;
}

/** Prints one table; resolves to the number of rows that broke a promise. */
export type Part = (options: TableOptions) => Promise<number>;

/** One row, by column. */
export type Row = Record<string, string | number>;

/** Prints a table row by row, as they are found. */
export class Table {
  #columns: string[] | undefined;
  /** How many rows broke a promise. */
  broken = 0;

  add(row: Row, kept: boolean): void {
    if (this.#columns === undefined) {
      this.#columns = Object.keys(row);
      this.#print(this.#columns);
      this.#print(Object.values(row).map((value) => typeof value === "number" ? "--:" : "---"));
    }
    this.#print(this.#columns.map((column) => String(row[column])));
    if (kept) return;
    this.broken++;
    console.log("  ↑ broke a promise");
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
