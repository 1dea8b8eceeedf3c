/** Processes that take over from each other without a proxy. */
import { failuresOf, type Part, Table } from "../table_row.ts";
import { replaceByReusePort, replaceWorkers, succeed } from "./handover.ts";
import type { RollingOutcome } from "./rolling.ts";

/** Promise: clients see no failure, and a successor can bind the port while its predecessor drains. */
export const handovers: Part = async (options) => {
  const table = new Table();
  const add = (what: string, { answered, failures, exit }: RollingOutcome) =>
    table.add({
      "handover": what,
      "times": options.rounds,
      "requests answered": answered,
      "client-visible failures": failuresOf(failures),
      "longest exit ms": Math.round(exit),
    }, Object.keys(failures).length === 0);
  add("node:cluster, 2 workers", await replaceWorkers(options));
  for (const runtime of ["deno", "bun"] as const) {
    add(`reusePort, ${runtime}`, await replaceByReusePort(runtime, options));
  }
  for (const [runtime, kind] of [["node", "node"], ["deno", "fetch"], ["bun", "fetch"]] as const) {
    const { problem, exit } = await succeed(runtime, kind);
    const failures: Record<string, number> = problem === undefined ? {} : { [problem]: 1 };
    add(`same port, ${runtime}`, { answered: 2, failures, exit });
  }
  return table.broken;
};
