/** Faults of the data. If it is lost while there is a holder, only fencing keeps the writes in order. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Harness, type Scenario, TTL } from "./_harness.ts";

/** Loses data while there are a holder and waiters, many times. */
async function losing(harness: Harness, lose: () => Promise<unknown>): Promise<void> {
  await harness.workers(4, "lock", { hold: 30 });
  for (let i = 0; i < 15; i++) {
    await harness.entries(2);
    await sleep(harness.random.below(30));
    await lose();
  }
  await harness.recover();
}

export const data: readonly Scenario[] = [
  {
    name: "FLUSHALL while held and while queued",
    lossy: true,
    fast: true,
    run: (harness) => losing(harness, () => harness.server.send("FLUSHALL")),
  },
  {
    name: "single keys evicted",
    lossy: true,
    run: (harness) =>
      losing(harness, async () => {
        const keys = await harness.server.send("KEYS", "interlock:*") as string[];
        if (keys.length > 0) await harness.server.send("DEL", harness.random.pick(keys));
      }),
  },
  {
    name: "out of memory, without eviction",
    run: async (harness) => {
      await harness.workers(3, "lock", { hold: 40 });
      await harness.entries(10);
      await harness.server.send("CONFIG", "SET", "maxmemory-policy", "noeviction");
      await harness.server.send("CONFIG", "SET", "maxmemory", "1");
      await sleep(2 * TTL); // holders go on and release; no new call is granted
      await harness.server.send("CONFIG", "SET", "maxmemory", "0");
      await harness.recover();
    },
  },
  {
    name: "10,000 keys come and go",
    run: async (harness) => {
      await harness.workers(4, "keyed", { hold: 0, keys: 10_000 });
      await harness.entries(10_000, 60_000);
    },
  },
];
