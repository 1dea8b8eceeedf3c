/** Many waiters of one event, calls that share a run, and a condition. */
import { register, situation } from "./_situation.ts";
import { BareCondition, BareFlag } from "./_floor.ts";
import type { Flag, Items } from "./_work.ts";
import type { Condition } from "../mod.ts";

/** Room for one item, whose state is guarded by a condition. */
function slot(condition: Pick<Condition, "run" | "waitFor" | "notify"> | BareCondition): Items {
  const items: number[] = [];
  const change = <T>(isReady: () => boolean, fn: () => T) =>
    condition.run(async () => {
      await condition.waitFor(isReady);
      condition.notify();
      return fn();
    });
  return {
    put: (item) => change(() => items.length === 0, () => items.push(item)),
    get: () => change(() => items.length > 0, () => items.shift()!),
  };
}

export const situations = await register([
  ...[1000, 100_000].map((waiters) =>
    situation<() => Flag>({
      name: `event, ${waiters.toLocaleString("en")} waiters`,
      row: waiters === 100_000 ? "one of 100,000 waiters of an event" : undefined,
      operation: "wait",
      operations: waiters,
      main: waiters === 100_000,
      ours: ({ Event }) => () => new Event(),
      floor: () => () => new BareFlag(),
      peers: ["event", "events"],
      play: (work, make) => work.waitForFlag(make, waiters),
    })
  ),
  situation<() => Flag>({
    name: "single flight, 1,000 calls share a run",
    operation: "call",
    operations: 1000,
    ours: ({ SingleFlight }) => () => {
      const flights = new SingleFlight<number>();
      let finish = () => {};
      const run = new Promise<void>((resolve) => finish = resolve);
      return { wait: () => flights.run(1, () => run), set: () => finish() };
    },
    floor: () => () => new BareFlag(),
    play: (work, make) => work.waitForFlag(make, 1000),
  }),
  situation<Items>({
    name: "condition, a producer and a consumer of one slot",
    operation: "item",
    operations: 1000,
    ours: ({ Condition }) => slot(new Condition()),
    floor: () => slot(new BareCondition()),
    play: (work, items) => work.passItems(items, 1000),
  }),
]);
