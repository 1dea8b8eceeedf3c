/** A name whose slot of a cluster is open, and one whose keys move one by one, in every order. */
import assert from "node:assert/strict";
import { RedisLock } from "../../../lib/redis/mod.ts";
import { NONE } from "../../../lib/redis/scripts/layout.ts";
import { acquire, release } from "../../../lib/redis/scripts/state_machine.ts";
import { TimeoutError } from "../../../mod.ts";
import { test } from "../../_test.ts";
import { watch } from "../../_tools.ts";
import { nothing } from "../_scripted.ts";
import { MovingSlot } from "./_moving_slot.ts";
import { bodies, NetworkClient, onNetwork } from "./_network.ts";

const ttl = 3000;
const MOVING = /the slot of this name is being moved/;

for (const [name, make] of Object.entries(bodies)) {
  for (const waits of [false, true]) {
    test(`open slot: ${name}${waits ? " with a waiter" : ""}: a lease is renewed, extended, verified and released`, () =>
      onNetwork(MovingSlot, async ({ network: slot, pass, value }) => {
        const [here, there] = [new NetworkClient(slot), new NetworkClient(slot)];
        const lease = await value(make(here, { ttl }).acquire());
        const waiting = waits ? make(there, { ttl }).acquire({ timeout: 100 * ttl }) : undefined;
        await pass(100);
        slot.open();
        await pass(3 * ttl);
        assert.deepEqual([lease.held, lease.signal.aborted], [true, false]);
        await value(lease.extend(2 * ttl), 2 * ttl);
        assert.equal(await value(lease.verify()), true);
        if (!waits) { // else all of its keys exist
          await assert.rejects(
            value(make(there, { ttl }).acquire({ timeout: ttl }), ttl + 10),
            (error) => error instanceof TimeoutError && MOVING.test(String(error.cause)),
          );
        }
        assert.equal(await value(lease.release(), ttl / 2), true);
        await pass(3 * ttl);
        slot.close();
        const next = await value(waiting ?? make(there, { ttl }).acquire(), 2 * ttl);
        assert.ok(next.fencingToken > lease.fencingToken);
        assert.equal(await value(next.release()), true);
      }));
  }
}

function* orders<T>(items: readonly T[]): Iterable<T[]> {
  if (items.length === 0) yield [];
  for (const [i, item] of items.entries()) {
    for (const rest of orders(items.toSpliced(i, 1))) yield [item, ...rest];
  }
}

for (const name of ["lock", "semaphore"]) {
  const make = bodies[name]!;
  const ends = ["", ":queue", ":lives"];
  test(`moving slot: ${name}: a release at any moment resolves to true, and the waiter is next`, async () => {
    for (const order of orders(ends)) {
      for (let before = 0; before <= order.length; before++) {
        await onNetwork(MovingSlot, async ({ network: slot, pass, value }) => {
          const lease = await value(make(new NetworkClient(slot), { ttl }).acquire());
          const waiting = make(new NetworkClient(slot), { ttl }).acquire({ timeout: 100 * ttl });
          await pass(100);
          const keys = order.map((end) => slot.left.find((key) => key.endsWith(`}${end}`))!);
          slot.open();
          const move = (key: string) => slot.left.includes(key) && slot.move(key);
          keys.slice(0, before).forEach(move);
          await pass(ttl / 2);
          assert.equal(lease.held, true);
          const released = lease.release();
          for (const key of keys.slice(before)) {
            await pass(100);
            move(key);
          }
          await pass(100);
          slot.close();
          assert.equal(await value(released, ttl), true, `${before} of ${order}`);
          const next = await value(waiting, 2 * ttl);
          assert.ok(next.fencingToken > lease.fencingToken);
          assert.equal(await value(next.release()), true);
        });
      }
    }
  });
}

test("open slot: a waiter that was cancelled leaves nothing that is granted later", () =>
  onNetwork(MovingSlot, async ({ network: slot, pass, value }) => {
    const make = () => new RedisLock(new NetworkClient(slot), "a", { ttl: 30_000 });
    const lease = await value(make().acquire());
    const controller = new AbortController();
    const before = watch(make().acquire({ signal: controller.signal }));
    await pass(100);
    const waiting = make().acquire({ timeout: 60_000 });
    await pass(100);
    slot.open();
    slot.move(slot.left.find((key) => key.endsWith(":queue"))!);
    controller.abort();
    await pass(ttl);
    assert.equal(before.state, "rejected");
    slot.close();
    await pass(ttl);
    assert.equal(await value(lease.release()), true);
    await value((await value(waiting, 100)).release());
  }));

type Command = Parameters<NetworkClient["evalsha"]>;

test("open slot: a hold whose call has ended is given back", () =>
  onNetwork(MovingSlot, async ({ network: slot, pass, value }) => {
    class Forgetful extends NetworkClient {
      override async evalsha(...command: Command): Promise<unknown> {
        const answer = await super.evalsha(...command);
        const isGrant = command[0] === acquire.lock.sha && !Array.isArray(answer); // of a free lock
        return isGrant ? await nothing : answer;
      }
    }
    await value(new RedisLock(new NetworkClient(slot), "a", { ttl: 30_000 }).run(() => {}));
    const call = watch(new RedisLock(new Forgetful(slot), "a", { ttl: 30_000 }).acquire({ timeout: 500 }));
    const holder = () => String(slot.redis.call("GET", slot.left[0]!)).slice(17, 38);
    await pass(400);
    assert.notEqual(holder(), NONE);
    slot.open();
    await pass(5 * ttl);
    assert.equal(call.state, "rejected");
    assert.equal(holder(), NONE);
    slot.close();
  }));

test("cluster: a release that is sent again grants the next waiter at once", () =>
  onNetwork(MovingSlot, async ({ network: slot, pass, value }) => {
    let lost = false;
    class Losing extends NetworkClient {
      override async evalsha(...command: Command): Promise<unknown> {
        if (lost || command[0] !== release.lock.sha) return await super.evalsha(...command);
        lost = true;
        return await nothing;
      }
    }
    const long = { ttl: 30_000 };
    const lease = await value(new RedisLock(new Losing(slot), "a", long).acquire());
    const waiting = new RedisLock(new NetworkClient(slot), "a", long).acquire({ timeout: 60_000 });
    await pass(1000);
    assert.equal(await value(lease.release(), 6000), true);
    assert.equal(lost, true);
    await value((await value(waiting, 100)).release());
  }));
