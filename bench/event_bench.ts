/** Many waiters of one event, and calls that share a run. */
import { register, situation } from "./_situation.ts";
import { BareFlag } from "./_floor.ts";
import type { Flag } from "./_work.ts";

export const situations = await register([
  ...[1000, 100_000].map((waiters) =>
    situation<() => Flag>({
      name: `event, ${waiters.toLocaleString("en")} waiters`,
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
]);
