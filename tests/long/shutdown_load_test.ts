/**
 * The proof: servers that are shut down under steady load lose nothing. Started by Deno it is done for all run-times; by
 * another one for that one.
 */
import assert from "node:assert/strict";
import { runtime, test } from "../_test.ts";
import { self } from "../shutdown/runtimes.ts";
import { restart } from "../shutdown/table_restarts.ts";
import { SERVERS } from "../shutdown/table_row.ts";

const ROUNDS = 10;

for (const [name, on, kind] of SERVERS.filter(([, on]) => runtime === "deno" || on === self)) {
  test(`GracefulShutdown: ${ROUNDS} times SIGTERM under load, ${name}`, async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const { reports, answered, refused, lost, exits } = await restart(on, kind, "restart", {
      rounds: ROUNDS,
      seed,
      connections: 100,
    });
    console.log(`${name}: seed ${seed}, ${answered} answered whole, longest exit after ${Math.max(...exits)} ms`);
    assert.deepEqual(lost, [], "accepted and not answered whole, answered wrongly or reset half-way");
    assert.ok(answered > 20 * ROUNDS && refused > 0, `${answered} answered, ${refused} newcomers refused`);
    for (const { drained, remaining, errors, reason } of reports) {
      assert.deepEqual([drained, remaining, errors], [true, [], []]);
      assert.match(reason, /SIGTERM/);
    }
  }, { timeout: 600_000 });
}
