/** Rate limits of other packages. bottleneck with a reservoir takes 5 ms for each start, and so is left out. */
import PQueue from "p-queue";
import pThrottle from "p-throttle";

type Start = (fn: () => void) => Promise<unknown>;

const [LIMIT, INTERVAL] = [1_000_000, 10];

const throttle = (strict: boolean) => (): Start =>
  pThrottle({ limit: LIMIT, interval: INTERVAL, strict })((fn: () => void) => Promise.resolve(fn()));

export const free: Readonly<Record<string, () => Start>> = {
  "p-throttle": throttle(false),
  "p-throttle, strict": throttle(true),
  "p-queue": () => {
    const queue = new PQueue({ interval: INTERVAL, intervalCap: LIMIT });
    return (fn) => queue.add(() => fn());
  },
};
