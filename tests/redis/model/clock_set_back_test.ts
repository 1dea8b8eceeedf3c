/** A server whose clock is set back, or a failover to one that is behind. */
import assert from "node:assert/strict";
import {
  type Acquirable,
  type Backend,
  type Lease,
  RedisLock,
  RedisRwLock,
  RedisSemaphore,
} from "../../../lib/redis/mod.ts";
import type { Script } from "../../../lib/redis/scripts/script.ts";
import { test } from "../../_test.ts";
import { flushMicrotasks, seeded, watch, withFakeTime } from "../../_tools.ts";
import { reply } from "./_lua.ts";
import { Network, NetworkClient, withoutChance } from "./_network.ts";

const ttl = 3000;

class Shifted extends Network {
  /** Seconds by which its clock is ahead. */
  ahead = 0;

  protected override reply(script: Script, keys: string[], args: string[]): unknown {
    this.redis.now += this.ahead * 1e6;
    return reply(this.redis, script, keys, args);
  }
}

const bodies: Readonly<Record<string, (backend: Backend) => Acquirable<Lease>>> = {
  lock: (backend) => new RedisLock(backend, "a", { ttl }),
  semaphore: (backend) => new RedisSemaphore(backend, "a", 1, { ttl }),
  writer: (backend) => new RedisRwLock(backend, "a", { ttl }).writer,
};

for (const [name, make] of Object.entries(bodies)) {
  test(`clock set back by 600 s: a ${name} that was renewed, and whose holder crashes, delays the next one by one ttl`, () =>
    seeded((random) =>
      withoutChance(random, () =>
        withFakeTime(async (time) => {
          const pass = async (ms: number) => {
            await flushMicrotasks();
            await time.pass(ms, 10);
          };
          const network = new Shifted(random);
          const dying = new NetworkClient(network);
          const first = watch(make(dying).acquire());
          await pass(100);
          network.ahead = -600;
          await pass(ttl);
          assert.equal(first.value?.held, true); // renewed by the new clock
          dying.dead = true;
          const next = watch(make(new NetworkClient(network)).acquire({ timeout: 100 * ttl }));
          await pass(ttl + 250);
          assert.equal(next.state, "fulfilled");
          assert.ok(next.value!.fencingToken > first.value!.fencingToken);
          const released = watch(next.value!.release());
          await pass(1000);
          assert.equal(released.value, true);
          await time.pass(10 * ttl, 100);
        }))
    ));
}
