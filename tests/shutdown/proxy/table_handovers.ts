/** Processes that take over from each other without a proxy. */
import { failuresOf, type Part, sum, Table } from "../table_row.ts";
import { replaceByReusePort, replaceWorkers, succeed } from "./handover.ts";
import type { RollingOutcome } from "./rolling.ts";

/** Clients that send quick requests without a pause; more would keep the processor busy. */
const QUICK = 4;

/**
 * Promise: clients see no failure, and a successor can bind the port while its predecessor drains. Deno and Bun close a
 * connection whose answer had begun before the signal right after it; a client that is sending again then may repeat it.
 */
export const handovers: Part = async (options) => {
  const table = new Table();
  const add = (what: string, { answered, failures, unread, exit }: RollingOutcome, repeats = 0) =>
    table.add({
      "handover": what,
      "times": options.rounds,
      "requests answered": answered,
      "client-visible failures": failuresOf(failures),
      "of these unread": unread,
      "longest exit ms": Math.round(exit),
    }, sum(failures) === Math.min(unread, repeats));
  add("node:cluster, 2 workers", await replaceWorkers(options));
  const quick = { ...options, routes: "quick", connections: QUICK } as const;
  add("node:cluster, a connection for each request", await replaceWorkers(quick));
  for (const runtime of ["deno", "bun"] as const) {
    add(`reusePort, ${runtime}`, await replaceByReusePort(runtime, options), Infinity);
  }
  for (const [runtime, kind] of [["node", "node"], ["deno", "fetch"], ["bun", "fetch"]] as const) {
    const { problem, exit } = await succeed(runtime, kind);
    const failures: Record<string, number> = problem === undefined ? {} : { [problem]: 1 };
    add(`same port, ${runtime}`, { answered: 2, failures, unread: 0, exit });
  }
  return table.broken;
};
