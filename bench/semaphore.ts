/** Ten permits for many tasks. */
import { Semaphore as AsyncSemaphore } from "async-mutex";
import { Sema } from "async-sema";
import { Semaphore as EsToolkitSemaphore } from "es-toolkit";
import type { Contender } from "./_contend.ts";
import { bare, each, playing } from "./lock.ts";
import { turns } from "./_floor.ts";
import type { Guard } from "../mod.ts";
import type { Situation } from "./_situation.ts";

const TURNS = 50_000;

const peers: Record<string, () => Contender> = {
  "es-toolkit": () => new EsToolkitSemaphore(10),
  "async-sema": () => new Sema(10) as unknown as Contender,
  "async-mutex": () => {
    const semaphore = new AsyncSemaphore(10);
    return { acquire: () => semaphore.acquire(), release: ([, release]: [number, () => void]) => release() };
  },
};

const WHY =
  "the bare queue (a floor below) would just reach it. The rest are permits, the check of the limit, and gaps and " +
  "exits in line, a few nanoseconds each. Tried: handing one permit over directly, skipping the check, another order of " +
  "the tests: no more than 3 % each.";

export const semaphore: readonly Situation[] = [100, 1000].map((tasks) => ({
  name: `semaphore of 10, ${tasks.toLocaleString("en")} tasks`,
  unit: "ns",
  operations: TURNS,
  main: tasks === 1000,
  ours: {
    interlock: (lib) =>
      playing(() => {
        const semaphore = new lib.Semaphore(10);
        return { acquire: () => semaphore.acquire(), release: (guard: Guard) => guard.release() };
      }, (work, contender) => work.contend(contender, tasks, TURNS, 10)),
  },
  peers: each(peers, (work, contender) => work.contend(contender, tasks, TURNS, 10)),
  floors: { ...turns(TURNS), ...bare(10, (work, contender) => work.contend(contender, tasks, TURNS, 10)) },
  goals: [{ against: "peer", ratio: 1.2, bun: 1, named: ["es-toolkit", "async-sema"], why: WHY }],
}));
