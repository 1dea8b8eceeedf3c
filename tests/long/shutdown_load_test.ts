/**
 * The proof: servers that are shut down under steady load lose nothing. Started by Deno it is done for all three
 * run-times; by another one for that one.
 */
import assert from "node:assert/strict";
import { runtime, test } from "../_test.ts";
import { type Outcome, round } from "../shutdown/round.ts";
import type { RuntimeName } from "../shutdown/runtimes.ts";

const ROUNDS = 10;
/** The number of accepted requests that counts as a proof. */
const MANY = 1_000;

const servers: [RuntimeName, "fetch" | "node"][] = [
  ["deno", "fetch"],
  ["node", "node"],
  ["bun", "fetch"],
];

for (const [name, kind] of servers.filter(([name]) => runtime === "deno" || name === runtime)) {
  test(`GracefulShutdown: ${ROUNDS} times SIGTERM under load, ${name}`, async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    console.log(`${name}: seed ${seed}`);
    let accepted = 0;
    // More rounds on a busy machine, where an early signal finds few requests.
    for (let i = 0; i < ROUNDS || accepted < MANY; i++) {
      accepted += check(await round(name, kind, seed + i), `${name}, seed ${seed + i}`);
    }
  }, { timeout: 600_000 });
}

/** Fails if something was lost; returns how many requests were accepted. */
function check(outcome: Outcome, title: string): number {
  const { accepted, whole, refused, noConnection, closedKept, closedNew, lost, wrong, longest, exit, report } = outcome;
  console.log(
    `${title}: ${accepted} accepted, ${whole} answered whole, ${lost.length} lost; ${refused} got 503, ${noConnection} ` +
      `no connection, ${closedKept} + ${closedNew} closed unread (kept + new); longest request ${
        Math.round(longest)
      } ms, ` +
      `exit after ${Math.round(exit)} ms`,
  );
  assert.deepEqual(lost, [], "accepted and not answered whole");
  assert.deepEqual(wrong, [], "answered wrongly or reset half-way");
  assert.equal(whole, accepted);
  assert.ok(refused + noConnection > 0, "newcomers were refused");
  assert.equal(outcome.code, 0);
  assert.equal(report.drained, true);
  assert.deepEqual(report.remaining, []);
  assert.deepEqual(report.errors, []);
  assert.match(report.reason, /SIGTERM/);
  return accepted;
}
