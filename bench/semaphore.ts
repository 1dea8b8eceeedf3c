/** Ten permits for many tasks. */
import { Semaphore as AsyncSemaphore } from "async-mutex";
import { Sema } from "async-sema";
import { Semaphore as EsToolkitSemaphore } from "es-toolkit";
import type { Contender } from "./_contend.ts";
import { each, playing } from "./lock.ts";
import { turns } from "./_floor.ts";
import type { Guard } from "../mod.ts";
import type { Situation } from "./_situation.ts";

const TURNS = 20_000;

const peers: Record<string, () => Contender> = {
  "es-toolkit": () => new EsToolkitSemaphore(10),
  "async-sema": () => new Sema(10) as unknown as Contender,
  "async-mutex": () => {
    const semaphore = new AsyncSemaphore(10);
    return { acquire: () => semaphore.acquire(), release: ([, release]: [number, () => void]) => release() };
  },
};

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
  floors: turns(TURNS),
  goal: { against: "peer", ratio: 1.4 },
}));
