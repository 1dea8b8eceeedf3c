/** The cost of diagnostics while they are on, next to the same lock while they are off. */
import { guarded, register, situation } from "./_situation.ts";
import type { Locking } from "./_work.ts";
import { dashboard } from "../lib/dashboard/mod.ts";
import { metrics, observe, trace, watchdog } from "../lib/diagnostics/mod.ts";
import { Lock } from "../mod.ts";

/** The instruments of OpenTelemetry cost something of their own, which is not counted here. */
const instrument = { record() {}, add() {} };
const meter = {
  createHistogram: () => instrument,
  createUpDownCounter: () => instrument,
  createCounter: () => instrument,
};

const observers: Readonly<Record<string, () => Disposable>> = {
  observe: () => observe({ wait() {}, grant() {}, giveUp() {}, release() {} }),
  metrics: () => metrics(meter),
  trace: () => trace(),
  dashboard: () => dashboard(),
  watchdog: () => watchdog(),
};

type Named = readonly [lock: Locking, name: string | undefined];

export const situations = await register(
  Object.entries(observers).map(([name, start]) =>
    situation<Named>({
      name: `lock, 10 tasks, next to ${name}`,
      operations: 1000,
      ours: () => [guarded(new Lock({ name: "orders" })), name],
      floor: () => [guarded(new Lock({ name: "orders" })), undefined],
      floorName: "off",
      play: async (work, [lock, name]) => {
        using _ = name === undefined ? undefined : start();
        await work.contend(lock, { tasks: 10, turns: 1000 });
      },
    })
  ),
);
