/**
 * Single faults, each with the conditions that hold during and after it. The harness checks those of all; random.ts
 * injects the faults of one process or connection in any order.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { setClock } from "./_clock.ts";
import { type Harness, type Scenario, signal, through, TTL, WRITES } from "./_harness.ts";
import { failover } from "./failover.ts";

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

const restarted = through(async ({ server }) => {
  await server.kill();
  await sleep(200); // the duration of the fault; no check depends on it
  await server.start();
});

/** The server's clock jumps an hour ahead, back, and an hour behind. */
async function jumping(harness: Harness): Promise<void> {
  await harness.workers(4, "lock", { clock: true });
  let [clock, most] = [0, 0];
  for (const seconds of [3600, 0, -3600, 0]) {
    await harness.entries(20);
    await setClock(harness.server, seconds);
    await harness.recover();
    if (seconds > clock) most += WRITES; // of the one holder whose lease has ended for the server
    clock = seconds;
    const { stale } = harness.figures;
    harness.must(stale <= most, `${stale} writes with an old token until the jump to ${seconds} s, more than ${most}`);
  }
}

/** One of several workers is stopped for longer than a lease, at random moments. */
async function pausing(harness: Harness): Promise<void> {
  const [first, second] = await harness.workers(4, "lock", { hold: 60 });
  for (const child of [first!, second!, first!]) {
    await harness.entries(4 + harness.random.below(4));
    signal(child, "SIGSTOP");
    await sleep(1.6 * TTL);
    signal(child, "SIGCONT");
  }
  await harness.recover();
}

/** Processes are killed with the turns that they wait for, connections are cut, and answers get lost. */
async function crashingStarters(harness: Harness): Promise<void> {
  const victims = await harness.workers(4, "starter");
  await harness.workers(2, "starter");
  for (const victim of victims) {
    await harness.entries(10);
    harness.proxy.cutNext(harness.random.below(2) === 0 ? "after" : "before");
    await harness.entries(5);
    harness.proxy.cut("commands");
    signal(victim, "SIGKILL");
  }
  await harness.recover(20);
}

export const scenarios: readonly Scenario[] = [
  { name: "cut before the request arrives", fast: true, run: cutting("before") },
  { name: "cut after execution, before the reply", fast: true, run: cutting("after") },
  {
    name: "server stopped for less than a lease",
    fast: true,
    run: through(async ({ server }) => {
      server.pause();
      await sleep(TTL / 2);
      server.resume();
    }),
  },
  { name: "server killed, back with nothing", lossy: true, fast: true, run: restarted },
  {
    name: "server killed, back with its append-only file",
    args: ["--appendonly", "yes", "--appendfsync", "always"],
    run: restarted,
  },
  {
    name: "FLUSHALL while held and while queued",
    lossy: true,
    fast: true,
    run: through(async (harness) => {
      for (let i = 0; i < 15; i++) {
        await harness.entries(2);
        await sleep(harness.random.below(30));
        await harness.server.send("FLUSHALL");
      }
    }, { hold: 30 }),
  },
  { name: "a process stopped past its lease, as holder or as granted waiter", lossy: true, run: pausing },
  // At a jump ahead every lease has ended for the server, and not yet for its holder.
  { name: "the server's clock jumps ahead and back", lossy: true, fast: true, run: jumping },
  { name: "rate limit: processes killed, connections cut, answers lost", fast: true, run: crashingStarters },
  {
    name: "rate limit: the server's clock is set back",
    fast: true,
    run: async (harness) => {
      await harness.workers(4, "starter", { clock: true });
      for (const seconds of [-1, -3600, -7200]) {
        await harness.entries(15);
        await setClock(harness.server, seconds);
      }
      await harness.recover(20);
    },
  },
  ...failover,
];
