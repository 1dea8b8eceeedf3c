/** The deadline that a holder trusts while a command that sets the end has no answer, or a late one. */
import assert from "node:assert/strict";
import { LeaseLostError, RedisLock } from "../../../lib/redis/mod.ts";
import { test } from "../../_test.ts";
import { deferred, flushMicrotasks, watch, withFakeTime } from "../../_tools.ts";
import { computeDigests, nothing, scripted } from "../_scripted.ts";
import { renewalOf } from "../_command_of.ts";

test("LeaseDeadline: an extend to more that is never answered ends at the old deadline", () =>
  withFakeTime(async (time) => {
    await computeDigests();
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
  }));

test("LeaseDeadline: a late answer to a renewal sent before an extend to more confirms the old ttl at most", () =>
  withFakeTime(async (time) => {
    await computeDigests();
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
  }));

test("LeaseDeadline: an extend after a pause longer than the ttl finds the lease lost, and sends nothing", () =>
  withFakeTime(async (time) => {
    await computeDigests();
    const commands: string[] = [];
    const backend = scripted((command) => void commands.push(command));
    const lease = await new RedisLock(backend, "a", { ttl: 3000, renew: false }).acquire();
    let extended: ReturnType<typeof watch<void>> | undefined;
    setTimeout(() => extended = watch(lease.extend()), 1); // before any other timer
    time.block(4000);
    await flushMicrotasks();
    assert.ok(extended?.reason instanceof LeaseLostError);
    assert.ok(!commands.includes("renew"), String(commands));
  }));

test("LeaseDeadline: expiresAt is the deadline on the wall clock", () =>
  withFakeTime(async () => {
    const lease = await new RedisLock(scripted(() => undefined), "a", { ttl: 3000 }).acquire();
    const rest = lease.expiresAt - Date.now();
    assert.ok(rest > 2900 && rest <= 3000, `${rest} ms`);
    await lease.release();
  }));
