/**
 * The cost of diagnostics while they are on: nanoseconds for each acquire and release, in interleaved rounds, the best
 * round of each. `deno run -A bench/diagnostics_overhead.ts [ROUNDS]`
 */
import process from "node:process";
import { Lock } from "../mod.ts";
import { dashboard } from "../lib/dashboard/mod.ts";
import { type MeterLike, metrics, observe, trace, watchdog } from "../lib/diagnostics/mod.ts";

const COUNT = 20_000;
const ROUNDS = Number(process.argv[2] ?? 15);

/** The instruments of OpenTelemetry cost something of their own, which is not counted here. */
const instrument = { record() {}, add() {} };
const meter: MeterLike = {
  createHistogram: () => instrument,
  createUpDownCounter: () => instrument,
  createCounter: () => instrument,
};

const settings: Record<string, () => Disposable> = {
  "off": () => ({ [Symbol.dispose]() {} }),
  "observe": () => observe({ wait() {}, grant() {}, giveUp() {}, release() {} }),
  "metrics": () => metrics(meter),
  "trace": () => trace(),
  "dashboard": () => dashboard(),
  "watchdog": () => watchdog(),
};

const situations: Record<string, (lock: Lock) => Promise<void>> = {
  async "free lock"(lock) {
    for (let i = 0; i < COUNT; i++) (await lock.acquire()).release();
  },
  async "free lock, run"(lock) {
    for (let i = 0; i < COUNT; i++) await lock.run(() => {});
  },
  async "10 callers"(lock) {
    const caller = async () => {
      for (let i = 0; i < COUNT / 10; i++) {
        const guard = await lock.acquire();
        await undefined;
        guard.release();
      }
    };
    await Promise.all(Array.from({ length: 10 }, caller));
  },
};

async function measure(setting: () => Disposable, work: (lock: Lock) => Promise<void>): Promise<number> {
  using _ = setting();
  const start = performance.now();
  await work(new Lock({ name: "orders" }));
  return (performance.now() - start) / COUNT * 1e6;
}

for (const [situation, work] of Object.entries(situations)) {
  const times: Record<string, number[]> = {};
  for (let round = -2; round < ROUNDS; round++) {
    for (const [name, setting] of Object.entries(settings)) {
      const time = await measure(setting, work);
      if (round >= 0) (times[name] ??= []).push(time); // the first rounds compile the code
    }
  }
  const best = Object.entries(times).map(([name, all]) => `${name} ${Math.round(Math.min(...all))} ns`);
  console.log(`${situation}: ${best.join(", ")}`);
}
