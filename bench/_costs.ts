/** The cost of a graceful shutdown next to a bare server, by server, as the page and its chart show it. */
import type { Results } from "./_results.ts";
import type { Row } from "./_runner.ts";
import { BARE, type Kind, ratioOf } from "./shutdown/situations.ts";

/** One kind of server on one run-time. */
export interface Column {
  readonly title: string;
  /** Of all contenders but the bare server. */
  readonly rows: readonly Row[];
  /** Of the bare server: its spread is the noise. */
  readonly bare: Row;
}

const COLUMNS: readonly [runTime: string, kind: Kind, title: (version: string) => string][] = [
  ["node20", "node", (version) => `Node ${version}`],
  ["node", "node", (version) => `Node ${version}`],
  ["deno", "node", (version) => `node:http on Deno ${version}`],
  ["deno", "fetch", (version) => `Deno.serve ${version}`],
  ["bun", "fetch", (version) => `Bun.serve ${version}`],
];

export function costs({ runs }: Results): Column[] {
  return COLUMNS.flatMap(([runTime, kind, title]) => {
    const { version = "", rows = [] } = runs[runTime] ?? {};
    const all = rows.filter(({ situation }) => situation === ratioOf(kind));
    const bare = all.find(({ contender }) => contender === BARE);
    return bare === undefined ? [] : { title: title(version), rows: all.filter((row) => row !== bare), bare };
  });
}
