/** Processes that take over from each other without a proxy. */
import type { ProgramName } from "../runtimes.ts";
import { failuresOf, type Part, sum, Table, type TableOptions } from "../table_row.ts";
import { replaceByReusePort, succeed } from "./handover.ts";
import type { RollingOutcome } from "./rolling.ts";

type Handover = (options: TableOptions) => Promise<RollingOutcome>;

const ROWS: [name: string, repeats: number, handover: Handover][] = [
  ["reusePort, Deno.serve", Infinity, (options) => replaceByReusePort("deno", options)],
  ["reusePort, Bun.serve", Infinity, (options) => replaceByReusePort("bun", options)],
  ["same port, node:http on Node 20", 0, samePort("node20", "node")],
  ["same port, node:http on the newest Node", 0, samePort("node", "node")],
  ["same port, Deno.serve", 0, samePort("deno", "fetch")],
  ["same port, Bun.serve", 0, samePort("bun", "fetch")],
];

/**
 * Promise: clients see no failure, and a successor can bind the port while its predecessor drains. Deno and Bun close a
 * connection whose answer had begun before the signal right after it; a client that is sending again then may repeat it.
 */
export const handovers: Part = async (options) => {
  const table = new Table();
  for (const [name, repeats, handover] of ROWS.filter(([name]) => options.wanted(name))) {
    const { answered, failures, unread, exit } = await handover(options);
    table.add({
      "handover": name,
      "times": options.rounds,
      "requests answered": answered,
      "client-visible failures": failuresOf(failures),
      "of these unread": unread,
      "longest exit ms": Math.round(exit),
    }, sum(failures) === Math.min(unread, repeats));
  }
  return table;
};

/** A successor binds the port while the last answer of its predecessor is on its way. */
function samePort(runtime: ProgramName, kind: "fetch" | "node"): Handover {
  return async ({ rounds }) => {
    const total: RollingOutcome = { answered: 0, failures: {}, unread: 0, exit: 0 };
    for (let i = 0; i < rounds; i++) {
      const { problem, exit } = await succeed(runtime, kind);
      if (problem === undefined) total.answered += 2;
      else total.failures[problem] = (total.failures[problem] ?? 0) + 1;
      total.exit = Math.max(total.exit, exit);
    }
    return total;
  };
}
