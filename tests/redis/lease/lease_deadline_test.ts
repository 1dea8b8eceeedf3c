/** The deadline that a holder trusts while a command that sets the end has no answer, or a late one. */
import assert from "node:assert/strict";
import { LeaseLostError, RedisLock } from "../../../lib/redis/mod.ts";
import { deferred, flushMicrotasks, watch } from "../../_tools.ts";
import { fakeTimeTest, nothing, scripted } from "../_scripted.ts";
import { renewalOf } from "../_command_of.ts";

fakeTimeTest("an extend to more that is never answered ends at the old deadline", async (time) => {
  const backend = scripted((command) => command === "renew" ? nothing : undefined);
  const lease = await new RedisLock(backend, "a", { ttl: 3000 }).acquire();
  const extended = watch(lease.extend(9000));
  await time.pass(2900);
  assert.equal(lease.held, true);
  await time.pass(100);
  assert.deepEqual([lease.held, lease.signal.aborted], [false, true]);
  await time.pass(1000);
  assert.ok(extended.reason instanceof LeaseLostError);
  assert.equal(await lease.release(), false);
});

fakeTimeTest("a late answer to a renewal before an extend to more confirms the old ttl at most", async (time) => {
  const reply = deferred<unknown>();
  let renewals = 0;
  const backend = scripted((command, args) => {
    if (command === "renew") {
      return renewalOf(args[0]!).extensions === 0 && renewals++ === 0 ? reply.promise : nothing;
    }
  });
  const lease = await new RedisLock(backend, "a", { ttl: 3000 }).acquire();
  await time.pass(1100);
  assert.equal(renewals, 1);
  const extended = watch(lease.extend(9000));
  await flushMicrotasks();
  reply.resolve([1]); // the server keeps it for 3 s from the renewal on
  await time.pass(3100);
  assert.deepEqual([lease.held, lease.signal.aborted], [false, true]);
  await time.pass(1000);
  assert.ok(extended.reason instanceof LeaseLostError);
});

fakeTimeTest("an extend after a pause longer than the ttl finds it lost, and sends nothing", async (time) => {
  const commands: string[] = [];
  const backend = scripted((command) => void commands.push(command));
  const lease = await new RedisLock(backend, "a", { ttl: 3000, renew: false }).acquire();
  let extended: ReturnType<typeof watch<void>> | undefined;
  setTimeout(() => extended = watch(lease.extend()), 1); // before any other timer
  time.block(4000);
  await flushMicrotasks();
  assert.ok(extended?.reason instanceof LeaseLostError);
  assert.ok(!commands.includes("renew"), String(commands));
});

fakeTimeTest("expiresAt is the deadline on the wall clock", async () => {
  const lease = await new RedisLock(scripted(() => undefined), "a", { ttl: 3000 }).acquire();
  const rest = lease.expiresAt - Date.now();
  assert.ok(rest > 2900 && rest <= 3000, `${rest} ms`);
  await lease.release();
});
