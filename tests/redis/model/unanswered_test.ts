/** Commands that run while their answers are lost, over the real scripts and under a fake clock. */
import assert from "node:assert/strict";
import { LeaseLostError, RedisLock, RedisSemaphore } from "../../../lib/redis/mod.ts";
import { test } from "../../_test.ts";
import { flushMicrotasks, seeded, watch, withFakeTime } from "../../_tools.ts";
import { commandOf } from "../_command_of.ts";
import { Network, NetworkClient, withoutChance } from "./_network.ts";

/** A client that gets no answer to renewals and extensions while it is `deaf`, although they run. */
class Deaf extends NetworkClient {
  deaf = false;

  override evalsha(...command: Parameters<NetworkClient["evalsha"]>): Promise<unknown> {
    return this.#lose(super.evalsha(...command), command);
  }

  override eval(...command: Parameters<NetworkClient["eval"]>): Promise<unknown> {
    return this.#lose(super.eval(...command), command);
  }

  async #lose(answer: Promise<unknown>, [, keys, args]: Parameters<NetworkClient["eval"]>): Promise<unknown> {
    const value = await answer;
    return this.deaf && commandOf(keys, args) === "renew" ? await new Promise(() => {}) : value;
  }
}

const bodies = {
  lock: (client: NetworkClient) => new RedisLock(client, "a"),
  semaphore: (client: NetworkClient) => new RedisSemaphore(client, "a", 1),
};

for (const [name, make] of Object.entries(bodies)) {
  test(`${name}: an extend to less whose replies are lost: never two holders, and the next one holds soon`, () =>
    seeded((random) =>
      withoutChance(random, () =>
        withFakeTime(async (time) => {
          const network = new Network(random);
          const client = new Deaf(network);
          const first = watch(make(client).acquire());
          await time.pass(100);
          const lease = first.value!;
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
          await time.pass(60_000, 100);
        }))
    ));
}
