/** Waits that end by a signal or by their time, and waits with a time that do not. */
import { type Lib, register, situation } from "./_situation.ts";
import type { Flag } from "./_work.ts";

type Cancellable = (signal: AbortSignal) => Promise<unknown>;

const held = ({ Lock }: Lib) => {
  const lock = new Lock();
  lock.tryAcquire();
  return lock;
};
const common = { operation: "wait", isSlow: true } as const;

/** A listener for each. */
const listening = (): Cancellable => (signal) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

/** A timer for each. */
const timed = (ms: number): Flag => {
  const ends: (() => void)[] = [];
  const wait = () =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("late")), ms);
      ends.push(() => (clearTimeout(timer), resolve()));
    });
  return { wait, set: () => ends.forEach((end) => end()) };
};

export const situations = await register([
  ...[[1000, 1000], [10_000, 10_000], [100_000, 1]].map(([waiters, signals]) =>
    situation<Cancellable>({
      ...common,
      name: `cancelling, ${waiters!.toLocaleString("en")} waiters with ${
        signals === 1 ? "one signal" : "a signal each"
      }`,
      row: waiters === 1000 ? "cancelling one waiting call, if each call has its own signal" : undefined,
      operations: waiters!,
      main: waiters === 10_000,
      ours: (lib) => {
        const lock = held(lib);
        return (signal) => lock.acquire({ signal });
      },
      ...signals === 1 ? {} : { floor: listening }, // adding takes O(n) on Deno
      ...waiters === 1000 ? { peers: ["cancellation", "bySignal"] } : {},
      play: (work, wait) => work.cancel(wait, waiters!, signals!),
    })
  ),
  situation<() => Flag>({
    ...common,
    name: "waiting with a time, 10,000 waiters that are granted",
    operations: 10_000,
    main: true,
    ours: ({ Event }) => () => {
      const event = new Event();
      return { wait: () => event.wait({ timeout: 60_000 }), set: () => event.set() };
    },
    floor: () => () => timed(60_000),
    play: (work, make) => work.waitForFlag(make, 10_000),
  }),
  situation<() => Promise<unknown>>({
    ...common,
    name: "timing out, 10,000 waiters after 1 ms",
    operations: 10_000,
    main: true,
    ours: (lib) => {
      const lock = held(lib);
      return () => lock.acquire({ timeout: 1 });
    },
    floor: () => () => timed(1).wait(),
    play: (work, wait) => work.timeOut(wait, 10_000),
  }),
]);
