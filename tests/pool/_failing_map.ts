/** A process with a map of which several functions fail: how it is read is its argument. It has to stay alive. */
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "../../mod.ts";

const lived = new Pool(4); // joined at the end
let pool = lived;
const controller = new AbortController();

let hasFailed = () => {};
const failed = new Promise<void>((resolve) => hasFailed = resolve);

/** Items 1 and 2 fail, item 3 when it is told to stop. */
const fail = async (i: number, _: number, signal: AbortSignal): Promise<number> => {
  if (i === 0) return i;
  if (i === 3) await new Promise((aborted) => signal.addEventListener("abort", aborted));
  await sleep(i);
  hasFailed();
  throw new Error(`failure ${i}`);
};
const map = () => pool.map([0, 1, 2, 3], fail, { signal: controller.signal });
async function* failingSource() {
  try {
    for (let i = 0; i < 4; i++) yield await Promise.resolve(i);
  } finally {
    await sleep(1);
    // deno-lint-ignore no-unsafe-finally
    throw new Error("finally");
  }
}

const cases: Record<string, () => Promise<unknown>> = {
  "for await": async () => {
    for await (const _ of map());
  },
  "toArray": () => map().toArray(),
  "left by break": async () => {
    for await (const _ of map()) break;
  },
  "left behind a failure": async () => {
    for await (const _ of map()) {
      await failed;
      await sleep(0); // the map has the failure
      break;
    }
  },
  "aborted": async () => {
    setTimeout(() => controller.abort(new Error("failure 1")), 0);
    for await (const _ of map());
  },
  "await using": async () => {
    await using own = pool = new Pool(4);
    for await (const _ of map());
    await own.join();
  },
  "failing source": async () => {
    for await (const _ of pool.map(failingSource(), fail));
  },
  "failing source, left": async () => {
    for await (const _ of pool.map(failingSource(), (i) => i)) break;
  },
  "in one call": () => Pool.map([0, 1, 2, 3], 4, fail),
  "in one call, aborted": () => {
    setTimeout(() => controller.abort(new Error("failure 1")), 0);
    return Pool.map([0, 1, 2, 3], 4, fail, { signal: controller.signal });
  },
  "in one call, failing source": () => Pool.map(failingSource(), 4, fail),
  "settled": () => Pool.map([0, 1, 2], 4, fail, { settled: true }),
  "settled, aborted": () => {
    setTimeout(() => controller.abort(new Error("failure 1")), 0);
    return Pool.map([0, 1, 2, 3], 4, fail, { settled: true, signal: controller.signal });
  },
  "settled, left by break": async () => {
    for await (const _ of pool.map([0, 1, 2, 3], fail, { settled: true })) break;
  },
};

await cases[process.argv[2]!]!().catch((error: Error) => console.log(`${error}`));
while (lived.active > 0) await sleep(1);
await sleep(0); // by then a rejection without a handler has ended the process
await lived.join();
console.log("alive");
