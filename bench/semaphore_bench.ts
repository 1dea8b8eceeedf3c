/** 10 permits for 1,000 tasks. */
import { Semaphore } from "@interlock/interlock";
import { Semaphore as AsyncSemaphore } from "async-mutex";
import { Sema } from "async-sema";
import { Semaphore as EsToolkitSemaphore } from "es-toolkit";
import { contend, type Contender } from "./_contend.ts";

const contenders: Record<string, () => Contender> = {
  interlock: () => {
    const semaphore = new Semaphore(10);
    return { acquire: () => semaphore.acquire(), release: (guard: Disposable) => guard[Symbol.dispose]() };
  },
  "es-toolkit": () => new EsToolkitSemaphore(10),
  "async-sema": () => new Sema(10) as unknown as Contender,
  "async-mutex": () => {
    const semaphore = new AsyncSemaphore(10);
    return { acquire: () => semaphore.acquire(), release: ([, release]: [number, () => void]) => release() };
  },
};

for (const [name, make] of Object.entries(contenders)) {
  Deno.bench({
    name,
    group: "10,000 turns of 1,000 tasks, 10 at a time",
    baseline: name === "interlock",
    fn: async () => await contend(make(), 1000, 10_000, 10), // async by its look, or it is not awaited
  });
}
