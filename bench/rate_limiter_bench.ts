/** Starts that a limit allows at once: the price of counting them. */
import { register, situation } from "./_situation.ts";

/** Calls a function when it may start. */
type Start = (fn: () => void, index: number) => Promise<unknown>;

/** No start waits, and the log of starts stays short. */
const [LIMIT, INTERVAL] = [1_000_000, 10];

const floor = (): Start => (fn) => Promise.resolve().then(fn);

export const situations = await register([
  situation<Start>({
    name: "rate limiter, starts that are free",
    row: "a start that a rate limit allows without waiting",
    operation: "start",
    operations: 1000,
    main: true,
    ours: ({ RateLimiter }) => {
      const limiter = new RateLimiter(LIMIT, INTERVAL);
      return (fn) => limiter.run(fn);
    },
    floor,
    peers: ["rate_limiter", "free"],
    play: (work, start) => work.starts(start, 1000),
  }),
  situation<Start>({
    name: "keyed rate limiter, starts of 50 keys in use",
    operation: "start",
    operations: 1000,
    ours: ({ KeyedRateLimiter }) => {
      // Longer than an iteration, so that no key is made anew.
      const limiter = new KeyedRateLimiter<number>(LIMIT, 10 * INTERVAL);
      return (fn, index) => limiter.run(index % 50, fn);
    },
    floor,
    play: (work, start) => work.starts(start, 1000),
  }),
]);
