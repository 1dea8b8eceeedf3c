/** After a lease was shortened, the first waiters are told to ask: none may take another holder's token for a grant. */
import assert from "node:assert/strict";
import { RedisLock, RedisSemaphore } from "../../../lib/redis/mod.ts";
import { test } from "../../_test.ts";
import { seeded, watch, withFakeTime } from "../../_tools.ts";
import { Network, NetworkClient, withoutChance } from "./_network.ts";

/** A client whose command that tells waiters to ask arrives late. */
class Slow extends NetworkClient {
  arrive = () => {};
  readonly #late = new Promise<void>((resolve) => this.arrive = resolve);

  override async evalsha(...command: Parameters<NetworkClient["evalsha"]>): Promise<unknown> {
    if (command[2].includes("wake")) await this.#late;
    return await super.evalsha(...command);
  }
}

const bodies = {
  lock: (client: NetworkClient) => new RedisLock(client, "a"),
  semaphore: (client: NetworkClient) => new RedisSemaphore(client, "a", 1),
};

for (const [name, make] of Object.entries(bodies)) {
  test(`${name}: a waiter that is told to ask is not granted while another call holds`, () =>
    seeded((random) =>
      withoutChance(random, () =>
        withFakeTime(async (time) => {
          const network = new Network(random);
          const slow = new Slow(network);
          const start = async (client = new NetworkClient(network)) => {
            const call = watch(make(client).acquire());
            await time.pass(100);
            return call;
          };
          const [first, second, third, fourth] = [await start(slow), await start(), await start(), await start()];
          void first.value!.extend(500);
          await time.pass(100);
          void first.value!.release();
          await time.pass(100);
          slow.arrive();
          await time.pass(100);
          assert.deepEqual([second, third, fourth].map((call) => call.value?.held), [true, undefined, undefined]);
          for (const call of [second, third, fourth]) {
            void call.value!.release();
            await time.pass(100);
          }
          const tokens = [first, second, third, fourth].map((call) => call.value!.fencingToken);
          assert.equal(new Set(tokens).size, 4);
          await time.pass(60_000, 100);
        }))
    ));
}
