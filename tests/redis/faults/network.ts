/** Faults of the network. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Scenario, through, TTL } from "./_harness.ts";

/** Cuts connections at a request, one after the other: after each request has come, the next entry must follow. */
function cutting(moment: "before" | "after"): Scenario["run"] {
  return through(async (harness) => {
    for (let cuts = 1; cuts <= 8; cuts++) {
      harness.proxy.cutNext(moment);
      await harness.until(() => harness.proxy.cuts === cuts, () => "no request came to be cut");
      await harness.entries(1);
    }
  });
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
  { name: "cut before the request arrives", fast: true, run: cutting("before") },
  { name: "cut after execution, before the reply", fast: true, run: cutting("after") },
  {
    name: "all connections cut, again and again",
    run: through(async (harness) => {
      for (let i = 0; i < 10; i++) {
        harness.proxy.cut("all");
        await sleep(harness.random.below(200));
      }
    }),
  },
  ...(["both", "requests", "replies"] as const).map((direction): Scenario => ({
    name: `half-open: ${direction}`,
    run: through(async (harness) => {
      harness.proxy.freeze("all", direction);
      await sleep(2 * TTL);
      harness.proxy.thaw();
      harness.proxy.cut("all"); // the clients' keep-alive would detect it much later
    }),
  })),
  {
    name: "half-open: subscribers only",
    run: through(async (harness) => {
      harness.proxy.freeze("subscribers");
      await harness.entries(8, 12 * TTL + 8000); // by heartbeats
      harness.proxy.thaw();
      harness.proxy.cut("subscribers");
    }),
  },
];
