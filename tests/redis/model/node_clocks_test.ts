/** A cluster whose nodes' clocks differ: the time of one is never used for a name on another. */
import assert from "node:assert/strict";
import { type Lease, RedisLock, RedisRateLimiter, RedisSemaphore } from "../../../lib/redis/mod.ts";
import type { Script } from "../../../lib/redis/scripts/script.ts";
import { slotOf } from "../_slots.ts";
import { test } from "../../_test.ts";
import { reply } from "./_lua.ts";
import { Network, NetworkClient, onNetwork } from "./_network.ts";
import { MemoryRedis } from "./_redis.ts";

const ttl = 3000;

class Node extends MemoryRedis {
  /** Seconds by which its clock is ahead. */
  ahead: number;

  constructor(ahead: number) {
    super();
    this.ahead = ahead;
  }
}

class Nodes extends Network {
  readonly all: Node[] = [];
  /** Commands about keys of several slots. */
  mixed = 0;

  override get cluster(): boolean {
    return true;
  }

  protected override reply(script: Script, keys: string[], args: string[]): unknown {
    const slots = new Set(keys.map(slotOf));
    if (slots.size > 1) {
      this.mixed++;
      throw new Error("CROSSSLOT Keys in request don't hash to the same slot");
    }
    const [slot] = slots;
    const node = slot === undefined ? this.random.pick(this.all) : this.nodeOf(slot);
    node.now = this.redis.now + node.ahead * 1e6;
    const answer = reply(node, script, keys, args);
    this.redis.published.push(...node.published.splice(0));
    return answer;
  }

  nodeOf(slot: number): Node {
    return this.all[slot % this.all.length]!;
  }

  nameOn(node: Node): string {
    for (let i = 0;; i++) if (this.nodeOf(slotOf(`{${i}}`)) === node) return `${i}`;
  }
}

for (const seconds of [0, 1, 30, 600]) {
  test(`cluster: nodes whose clocks are ${seconds} s ahead and behind keep all leases`, () =>
    onNetwork(Nodes, async ({ network: nodes, pass, values }) => {
      nodes.all.push(...[0, seconds, -seconds].map((ahead) => new Node(ahead)));
      const names = nodes.all.map((node) => nodes.nameOn(node));
      const [here, there] = [new NetworkClient(nodes), new NetworkClient(nodes)];
      const of = (client: NetworkClient) =>
        names.flatMap((name) => [new RedisLock(client, name, { ttl }), new RedisSemaphore(client, name, 1, { ttl })]);
      const leases: Lease[] = await values(of(here).map((one) => one.acquire()));
      const waiting = of(there).map((one) => one.acquire({ timeout: 100 * ttl }));
      await pass(3 * ttl);
      assert.ok(leases.every(({ held }) => held), "lost");
      await values(leases.map((lease) => lease.extend(2 * ttl)));
      assert.ok((await values(leases.map((lease) => lease.verify()))).every((is) => is));
      assert.ok((await values(leases.map((lease) => lease.release()))).every((was) => was));
      const next = await values(waiting, 2 * ttl);
      next.forEach((lease, i) => assert.ok(lease.fencingToken > leases[i]!.fencingToken));
      await values(next.map((lease) => lease.release()));
      const limiters = names.map((name) => new RedisRateLimiter(here, name, 1, 300));
      const start = performance.now();
      await values([...limiters, ...limiters, ...limiters].map((limiter) => limiter.acquire()), 2000);
      assert.ok(performance.now() - start >= 600);
      assert.equal(nodes.mixed, 0);
    }));
}
