/**
 * Leases that end otherwise than their holder or the waiters expect, over the real scripts and under a fake clock: the
 * server's clock is set back, a process crashes, a lease is shortened, answers are lost.
 */
import assert from "node:assert/strict";
import { type Lease, LeaseLostError, RedisRwLock, RedisSemaphore } from "../../../lib/redis/mod.ts";
import type { Script } from "../../../lib/redis/scripts/script.ts";
import { test } from "../../_test.ts";
import { flushMicrotasks, watch } from "../../_tools.ts";
import { commandOf } from "../_command_of.ts";
import { nothing } from "../_scripted.ts";
import { bodies, Network, NetworkClient, onNetwork } from "./_network.ts";

const ttl = 3000;

class Shifted extends Network {
  /** Seconds by which its clock is ahead. */
  ahead = 0;

  protected override reply(script: Script, keys: string[], args: string[]): unknown {
    this.redis.now += this.ahead * 1e6;
    return super.reply(script, keys, args);
  }
}

/** A client whose command that tells waiters to ask arrives late. */
class Slow extends NetworkClient {
  arrive = () => {};
  readonly #late = new Promise<void>((resolve) => this.arrive = resolve);

  override async evalsha(...command: Parameters<NetworkClient["evalsha"]>): Promise<unknown> {
    if (command[2].includes("wake")) await this.#late;
    return await super.evalsha(...command);
  }
}

/** A client that gets no answer to renewals and extensions while it is `deaf`, although they run. */
class Deaf extends NetworkClient {
  deaf = false;

  override async evalsha(...command: Parameters<NetworkClient["evalsha"]>): Promise<unknown> {
    return this.#noteGreeting(command, await super.evalsha(...command));
  }

  override async eval(...command: Parameters<NetworkClient["eval"]>): Promise<unknown> {
    return this.#noteGreeting(command, await super.eval(...command));
  }

  #noteGreeting([, keys, args]: Parameters<NetworkClient["eval"]>, value: unknown): unknown {
    return this.deaf && commandOf(keys, args) === "renew" ? nothing : value;
  }
}

/** In ms: the ttl of a holder that crashes, that of the waiter behind it, and when this one arrives. */
const CRASHES = [[800, 30_000, 0], [5000, 60_000, 4500], [30_000, 9000, 21_500]] as const;
/** The most by which a crash delays a waiter beyond a ttl, and the time of a few commands on this network. */
const DELAY = 250 + 50;

for (const [name, make] of Object.entries(bodies)) {
  test(`${name}: a holder that crashes delays the next one by the rest of its lease, whatever the ttl of that`, () =>
    onNetwork(Network, async ({ network, pass, value }) => {
      for (const [holds, waits, arrives] of CRASHES) {
        const dying = new NetworkClient(network);
        await value(make(dying, { ttl: holds, renew: false }).acquire());
        dying.dead = true;
        await pass(arrives);
        const next = await value(make(new NetworkClient(network), { ttl: waits }).acquire(), holds - arrives + DELAY);
        assert.equal(await value(next.release()), true);
      }
    }));

  test(`clock set back by 600 s: a ${name} that was renewed, and whose holder crashes, delays the next one by one ttl`, () =>
    onNetwork(Shifted, async ({ network, pass }) => {
      const dying = new NetworkClient(network);
      const first = watch(make(dying, { ttl }).acquire());
      await pass(100);
      network.ahead = -600;
      await pass(ttl);
      assert.equal(first.value?.held, true); // renewed by the new clock
      dying.dead = true;
      const next = watch(make(new NetworkClient(network), { ttl }).acquire({ timeout: 100 * ttl }));
      await pass(ttl + 250);
      assert.equal(next.state, "fulfilled");
      assert.ok(next.value!.fencingToken > first.value!.fencingToken);
      const released = watch(next.value!.release());
      await pass(1000);
      assert.equal(released.value, true);
    }));

  test(`${name}: a waiter that is told to ask after a lease was shortened is not granted while another call holds`, () =>
    onNetwork(Network, async ({ network, pass }) => {
      const slow = new Slow(network);
      const start = async (client = new NetworkClient(network)) => {
        const call = watch(make(client).acquire());
        await pass(100);
        return call;
      };
      const [first, second, third, fourth] = [await start(slow), await start(), await start(), await start()];
      void first.value!.extend(500);
      await pass(100);
      void first.value!.release();
      await pass(100);
      slow.arrive();
      await pass(100);
      assert.deepEqual([second, third, fourth].map((call) => call.value?.held), [true, undefined, undefined]);
      for (const call of [second, third, fourth]) {
        void call.value!.release();
        await pass(100);
      }
      const tokens = [first, second, third, fourth].map((call) => call.value!.fencingToken);
      assert.equal(new Set(tokens).size, 4);
    }));

  test(`${name}: an extend to less whose replies are lost: never two holders, and the next one holds soon`, () =>
    onNetwork(Network, async ({ network, time, value }) => {
      const client = new Deaf(network);
      const lease = await value(make(client).acquire());
      client.deaf = true;
      const extended = watch(lease.extend(500));
      const next = watch(make(new NetworkClient(network)).acquire());
      let both = 0;
      for (let passed = 0; passed < 1500; passed += 10) {
        await flushMicrotasks();
        if (lease.held && next.value?.held) both++;
        time.advance(10);
      }
      assert.deepEqual([both, lease.held, lease.signal.aborted, next.value?.held], [0, false, true, true]);
      assert.ok(extended.reason instanceof LeaseLostError);
      void next.value!.release();
    }));
}

/** Those that fit beside a holder, and those that do not. */
const crowds: Record<string, (client: NetworkClient, ttl: number) => Record<"small" | "large", () => Promise<Lease>>> =
  {
    "read-write lock": (client, ttl) => {
      const { reader, writer } = new RedisRwLock(client, "a", { ttl });
      return { small: () => reader.acquire(), large: () => writer.acquire() };
    },
    semaphore: (client, ttl) => {
      const semaphore = new RedisSemaphore(client, "a", 4, { ttl });
      return { small: () => semaphore.acquire(), large: () => semaphore.acquire({ permits: 4 }) };
    },
  };

for (const [name, make] of Object.entries(crowds)) {
  test(`${name}: a waiter that does not fit and crashes delays those behind it by its ttl`, () =>
    onNetwork(Network, async ({ network, pass, value }) => {
      const ours = make(new NetworkClient(network), 30_000);
      for (const isBehind of [false, true]) { // a living one that does not fit either
        const holder = await value(ours.small());
        const before = isBehind ? ours.large() : undefined;
        await pass(100);
        const dying = new NetworkClient(network);
        make(dying, ttl).large().catch(() => {});
        await pass(100);
        const after = ours.small();
        await pass(100);
        dying.dead = true;
        await pass(1);
        if (before !== undefined) {
          await value(holder.release());
          await value((await value(before)).release());
        }
        await value((await value(after, ttl + DELAY)).release());
        await value(holder.release());
      }
    }));
}
