/** Faults of the network. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Harness, type Scenario, TTL } from "./_harness.ts";

/** Runs workers, injects a fault, ends it, and waits for the recovery. */
async function through(harness: Harness, fault: () => Promise<void>): Promise<void> {
  await harness.workers(4, "lock");
  await harness.entries(20);
  await fault();
  await harness.recover();
}

/** Cuts connections at a request, one after the other: after each request has come, the next entry must follow. */
async function cutting(harness: Harness, moment: "before" | "after"): Promise<void> {
  for (let cuts = 1; cuts <= 8; cuts++) {
    harness.proxy.cutNext(moment);
    await harness.until(() => harness.proxy.cuts === cuts, () => "no request came to be cut");
    await harness.entries(1);
  }
}

export const network: readonly Scenario[] = [
  {
    name: "latency and jitter",
    run: async (harness) => {
      Object.assign(harness.proxy, { latency: 15, jitter: 30 });
      await harness.workers(3, "lock", { hold: 5 });
      await harness.workers(1, "lock", { hold: 5, timeout: 60 }); // times out now and then
      await harness.entries(40, 30_000);
    },
  },
  {
    name: "cut before the request arrives",
    fast: true,
    run: (harness) => through(harness, () => cutting(harness, "before")),
  },
  {
    name: "cut after execution, before the reply",
    fast: true,
    run: (harness) => through(harness, () => cutting(harness, "after")),
  },
  {
    name: "all connections cut, again and again",
    run: (harness) =>
      through(harness, async () => {
        for (let i = 0; i < 10; i++) {
          harness.proxy.cut("all");
          await sleep(harness.random.below(200));
        }
      }),
  },
  ...(["both", "requests", "replies"] as const).map((direction): Scenario => ({
    name: `half-open: ${direction}`,
    run: (harness) =>
      through(harness, async () => {
        harness.proxy.freeze("all", direction);
        await sleep(2 * TTL);
        harness.proxy.thaw();
        harness.proxy.cut("all"); // the clients' keep-alive would detect it much later
      }),
  })),
  {
    name: "half-open: subscribers only",
    run: async (harness) => {
      await harness.workers(4, "lock");
      await harness.entries(20);
      harness.proxy.freeze("subscribers");
      await harness.entries(8, 12 * TTL + 8000); // by heartbeats
      harness.proxy.thaw();
      harness.proxy.cut("subscribers");
      await harness.recover();
    },
  },
];
