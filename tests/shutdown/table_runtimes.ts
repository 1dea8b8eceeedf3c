/** Servers on their own: each run-time and kind of server is ended at a random moment, again and again. */
import { type Outcome, round } from "./round.ts";
import type { ProgramName } from "./runtimes.ts";
import { type Part, Table } from "./table_row.ts";

/** What is served on which run-time. */
export const SERVERS: [name: string, runtime: ProgramName, kind: "fetch" | "node"][] = [
  ["node:http on Node 20", "node20", "node"],
  ["node:http on the newest Node", "node", "node"],
  ["Deno.serve", "deno", "fetch"],
  ["node:http on Deno", "deno", "node"],
  ["Bun.serve", "bun", "fetch"],
  ["node:http on Bun", "bun", "node"],
];

/** Promise: every accepted request is answered whole. */
export const runtimes: Part = async ({ rounds, seed, connections, wanted }) => {
  const table = new Table();
  for (const [name, runtime, kind] of SERVERS.filter(([name]) => wanted(name))) {
    const outcomes: Outcome[] = [];
    for (let i = 0; i < rounds; i++) outcomes.push(await round(runtime, kind, seed + i, { connections, spread: 1500 }));
    const sum = (of: (outcome: Outcome) => number) => outcomes.reduce((total, outcome) => total + of(outcome), 0);
    const max = (of: (outcome: Outcome) => number) => Math.round(Math.max(...outcomes.map(of)));
    const lost = outcomes.flatMap((outcome) => [...outcome.lost, ...outcome.wrong]);
    table.add({
      "server": name,
      "times": rounds,
      "accepted": sum((o) => o.accepted),
      "answered whole": sum((o) => o.whole),
      "lost": lost.length,
      "answered 503": sum((o) => o.refused),
      "closed unread, kept": sum((o) => o.closedKept),
      "closed unread, new": sum((o) => o.closedNew),
      "longest request ms": max((o) => o.longest),
      "longest exit ms": max((o) => o.exit),
    }, lost.length === 0);
    for (const one of lost.slice(0, 10)) console.log(`lost: ${one}`);
  }
  return table;
};
