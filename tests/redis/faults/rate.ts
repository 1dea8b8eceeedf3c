/** Faults of a rate limit: no window has more starts than the limit by the server's turns, and calls go on. */
import { setTimeout as sleep } from "node:timers/promises";
import { setClock } from "./_clock.ts";
import { type Harness, type Scenario, signal, TTL } from "./_harness.ts";
import { INTERVAL } from "./_permits.ts";
import { primaryKilled } from "./failover.ts";

/** Processes are killed with the turns that they wait for, connections are cut, and answers get lost. */
async function crashing(harness: Harness): Promise<void> {
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

async function paused(harness: Harness): Promise<void> {
  const [first] = await harness.workers(4, "starter");
  for (let i = 0; i < 3; i++) {
    await harness.entries(10);
    signal(first!, "SIGSTOP");
    await sleep(2 * INTERVAL);
    signal(first!, "SIGCONT");
    harness.server.pause();
    await sleep(harness.random.below(TTL));
    harness.server.resume();
  }
  await harness.recover(20);
}

async function setBack(harness: Harness): Promise<void> {
  await harness.workers(4, "starter", { clock: true });
  for (const seconds of [-1, -3600, -7200]) {
    await harness.entries(15);
    await setClock(harness.server, seconds);
  }
  await harness.recover(20);
}

async function flushed(harness: Harness): Promise<void> {
  await harness.workers(4, "starter");
  for (let i = 0; i < 4; i++) {
    await harness.entries(20);
    await sleep(2 * INTERVAL); // lost once in a window
    await harness.server.send("FLUSHALL");
  }
  await harness.recover(20);
}

export const rate: readonly Scenario[] = [
  { name: "rate limit: processes killed, connections cut, answers lost", fast: true, run: crashing },
  { name: "rate limit: a process and the server stopped", run: paused },
  { name: "rate limit: the server's clock is set back", fast: true, run: setBack },
  { name: "rate limit: FLUSHALL", lossy: true, run: flushed },
  {
    name: "rate limit: the primary is killed, its replica takes over",
    lossy: true,
    run: (harness) => primaryKilled(harness, "starter"),
  },
];
