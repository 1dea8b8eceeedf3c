/**
 * `deno task shutdown-load`: many rounds on every run-time and kind of server, as a table.
 *
 *     table.ts [ROUNDS] [SEED] [CONNECTIONS]
 */
import process from "node:process";
import { type Outcome, round } from "./round.ts";
import type { RuntimeName } from "./runtimes.ts";

const SERVERS: [RuntimeName, "fetch" | "node"][] = [
  ["deno", "fetch"],
  ["deno", "node"],
  ["node", "node"],
  ["bun", "fetch"],
  ["bun", "node"],
];

function numbers(args: string[], defaults: number[]): number[] {
  return defaults.map((otherwise, i) => {
    const value = Number(args[i] ?? otherwise);
    if (Number.isInteger(value) && value >= 1) return value;
    console.error(`Usage: deno task shutdown-load [ROUNDS] [SEED] [CONNECTIONS]; got ${JSON.stringify(args[i])}`);
    process.exit(2);
  });
}

const given = numbers(process.argv.slice(2), [20, 1 + Math.floor(Math.random() * 1e9), 300]);
const [rounds, seed, connections] = given as [number, number, number];
console.log(`${rounds} rounds each, seed ${seed}, ${connections} connections, SIGTERM at a random moment`);
const rows: Record<string, object> = {};
let failed = false;
for (const [runtime, kind] of SERVERS) {
  const outcomes: Outcome[] = [];
  for (let i = 0; i < rounds; i++) outcomes.push(await round(runtime, kind, seed + i, { connections, spread: 1500 }));
  const sum = (of: (outcome: Outcome) => number) => outcomes.reduce((total, outcome) => total + of(outcome), 0);
  const max = (of: (outcome: Outcome) => number) => Math.round(Math.max(...outcomes.map(of)));
  const lost = outcomes.flatMap((outcome) => [...outcome.lost, ...outcome.wrong]);
  failed ||= lost.length > 0;
  rows[`${runtime} ${kind === "fetch" ? "serve" : "node:http"}`] = {
    "accepted": sum((o) => o.accepted),
    "answered whole": sum((o) => o.whole),
    "lost": lost.length,
    "503": sum((o) => o.refused),
    "refused": sum((o) => o.noConnection),
    "closed unread, kept": sum((o) => o.closedKept),
    "closed unread, new": sum((o) => o.closedNew),
    "longest request ms": max((o) => o.longest),
    "longest exit ms": max((o) => o.exit),
  };
  for (const one of lost.slice(0, 10)) console.log(`lost: ${runtime} ${kind} ${one}`);
}
console.table(rows);
process.exit(failed ? 1 : 0);
