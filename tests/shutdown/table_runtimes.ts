/** Servers on their own: each run-time and kind of server is ended at a random moment, again and again. */
import { type Outcome, round } from "./round.ts";
import type { RuntimeName } from "./runtimes.ts";
import { type Part, Table } from "./table_row.ts";

const SERVERS: [RuntimeName, "fetch" | "node"][] = [
  ["deno", "fetch"],
  ["deno", "node"],
  ["node", "node"],
  ["bun", "fetch"],
  ["bun", "node"],
];

/** Promise: every accepted request is answered whole. */
export const runtimes: Part = async ({ rounds, seed, connections }) => {
  const table = new Table();
  for (const [runtime, kind] of SERVERS) {
    const outcomes: Outcome[] = [];
    for (let i = 0; i < rounds; i++) outcomes.push(await round(runtime, kind, seed + i, { connections, spread: 1500 }));
    const sum = (of: (outcome: Outcome) => number) => outcomes.reduce((total, outcome) => total + of(outcome), 0);
    const max = (of: (outcome: Outcome) => number) => Math.round(Math.max(...outcomes.map(of)));
    const lost = outcomes.flatMap((outcome) => [...outcome.lost, ...outcome.wrong]);
    table.add({
      "server": `${runtime} ${kind === "fetch" ? "serve" : "node:http"}`,
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
  return table.broken;
};
