/** A free lock, and 2 to 10,000 tasks that want one. The floor is what the language itself takes for one turn. */
import { Lock } from "@interlock/interlock";
import { Mutex as AsyncMutex } from "async-mutex";
import { Sema } from "async-sema";
import AwaitLock from "await-lock";
import { Mutex as EsToolkitMutex } from "es-toolkit";
import { contend, type Contender } from "./_contend.ts";

const FREE = 1000;
const TURNS = 10_000;

const contenders: Record<string, () => Contender> = {
  interlock: () => {
    const lock = new Lock();
    return { acquire: () => lock.acquire(), release: (guard: Disposable) => guard[Symbol.dispose]() };
  },
  "async-sema": () => new Sema(1) as unknown as Contender,
  "await-lock": () => {
    const lock = new AwaitLock();
    return { acquire: () => lock.acquireAsync(), release: () => lock.release() };
  },
  "es-toolkit": () => new EsToolkitMutex(),
  "async-mutex": () => {
    const mutex = new AsyncMutex();
    return { acquire: () => mutex.acquire(), release: (release: () => void) => release() };
  },
};

Deno.bench({
  name: "floor: await Promise.resolve()",
  group: `free lock, ${FREE} times`,
  fn: async () => {
    for (let i = 0; i < FREE; i++) await Promise.resolve();
  },
});
Deno.bench({
  name: "interlock, tryAcquire() ?? await acquire()",
  group: `free lock, ${FREE} times`,
  fn: async () => {
    const lock = new Lock();
    for (let i = 0; i < FREE; i++) (lock.tryAcquire() ?? await lock.acquire()).release();
  },
});
for (const [name, make] of Object.entries(contenders)) {
  Deno.bench({
    name,
    group: `free lock, ${FREE} times`,
    baseline: name === "interlock",
    fn: async () => {
      const contender = make();
      for (let i = 0; i < FREE; i++) contender.release(await contender.acquire() as never);
    },
  });
}

for (const tasks of [2, 10, 100, 1000, 10_000]) {
  for (const [name, make] of Object.entries(contenders)) {
    Deno.bench({
      name,
      group: `${TURNS} turns of ${tasks} tasks`,
      baseline: name === "interlock",
      fn: async () => await contend(make(), tasks, TURNS), // async by its look, or it is not awaited
    });
  }
}
