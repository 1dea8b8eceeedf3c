/** Limited concurrency: a promise per call, a handle per call, and a map over an iterable. */
import { Pool } from "@interlock/interlock";
import { limitAsync } from "es-toolkit";
import fastq from "fastq";
import pLimit from "p-limit";
import pMap from "p-map";
import PQueue from "p-queue";

const CALLS = 10_000;
const AT_ONCE = 10;
const MILLION = 1_000_000;

const work = (n: number): Promise<number> => Promise.resolve(n);

const runners: Record<string, () => (n: number) => Promise<unknown>> = {
  interlock: () => {
    const pool = new Pool(AT_ONCE);
    return (n) => pool.run(() => work(n));
  },
  "es-toolkit limitAsync": () => limitAsync(work, AT_ONCE),
  "p-limit": () => {
    const limit = pLimit(AT_ONCE);
    return (n) => limit(work, n);
  },
  "p-queue": () => {
    const queue = new PQueue({ concurrency: AT_ONCE });
    return (n) => queue.add(() => work(n));
  },
  "fastq (loses AsyncLocalStorage)": () => {
    const queue = fastq.promise(work, AT_ONCE);
    return (n) => queue.push(n);
  },
};

for (const [name, make] of Object.entries(runners)) {
  Deno.bench({
    name,
    group: `run: ${CALLS} calls, ${AT_ONCE} at a time`,
    baseline: name === "interlock",
    fn: async () => {
      const run = make();
      await Promise.all(Array.from({ length: CALLS }, (_, n) => run(n)));
    },
  });
}

Deno.bench({
  name: "interlock createTask",
  group: `createTask: ${CALLS} tasks, the producer held back`,
  fn: async () => {
    const pool = new Pool(AT_ONCE);
    for (let n = 0; n < CALLS; n++) await pool.createTask(() => work(n));
    await pool.join();
  },
});

const items = Array.from({ length: CALLS }, (_, n) => n);
Deno.bench({
  name: "interlock",
  group: `map: ${CALLS} items, ${AT_ONCE} at a time`,
  baseline: true,
  fn: async () => {
    for await (const _ of new Pool(AT_ONCE).map(items, work));
  },
});
Deno.bench({
  name: "p-map",
  group: `map: ${CALLS} items, ${AT_ONCE} at a time`,
  fn: async () => void await pMap(items, work, { concurrency: AT_ONCE }),
});
Deno.bench({
  name: "floor: for await over an async generator",
  group: `map: ${CALLS} items, ${AT_ONCE} at a time`,
  fn: async () => {
    async function* floor() {
      for (const item of items) yield await work(item);
    }
    for await (const _ of floor());
  },
});

Deno.bench({
  name: "interlock, heap sampled on the way",
  group: "map: a million trivial tasks in constant memory",
  n: 1,
  warmup: 0,
  fn: async () => {
    function* numbers() {
      for (let n = 0; n < MILLION; n++) yield n;
    }
    const heap = () => (Deno.memoryUsage().heapUsed / 2 ** 20).toFixed(1);
    const samples: string[] = [];
    for await (const n of new Pool(AT_ONCE).map(numbers(), work)) if (n % (MILLION / 8) === 0) samples.push(heap());
    console.log(`heap in MiB, sampled eight times: ${samples.join(" ")}`);
  },
});
