/** Processes that take over from each other without a proxy. */
import { failuresOf, type Part, sum, Table } from "../table_row.ts";
import { replaceByReusePort } from "./handover.ts";

const ROWS = [["reusePort, Deno.serve", "deno"], ["reusePort, Bun.serve", "bun"]] as const;

/**
 * Promise: clients see no failure. Deno and Bun close a connection whose answer had begun before the signal right after it;
 * a client that is sending again then may repeat it.
 */
export const handovers: Part = async (options) => {
  const table = new Table();
  for (const [name, runtime] of ROWS.filter(([name]) => options.wanted(name))) {
    const { answered, failures, unread, exit } = await replaceByReusePort(runtime, options);
    table.add({
      "handover": name,
      "times": options.rounds,
      "requests answered": answered,
      "client-visible failures": failuresOf(failures),
      "of these unread": unread,
      "longest exit ms": Math.round(exit),
    }, sum(failures) === unread);
  }
  return table;
};
