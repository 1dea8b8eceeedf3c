/** A service for many users: limits of calls at a time and per minute, for each user and for all together. */
import { KeyedRateLimiter, KeyedSemaphore, RateLimiter } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

export async function main(print: (line: string) => void = console.log) {
  const running = new KeyedSemaphore<string>(2);
  const [each, all] = [new KeyedRateLimiter<string>(5, 60_000), new RateLimiter(8, 60_000)];
  let [now, most] = [0, 0];

  /** Takes a start of the user and one of all, or none: in one step, so both limits hold. Returns ms to wait. */
  function start(user: string): number {
    if (!each.tryAcquire(user)) return each.retryAfter(user);
    if (all.tryAcquire()) return 0;
    each.reward(user); // the call is not made
    return all.retryAfter();
  }

  const serve = async (user: string) => {
    const wait = start(user);
    if (wait > 0) return `429, Retry-After: ${Math.ceil(wait / 1000)}`;
    return await running.run(user, async () => {
      most = Math.max(most, ++now);
      await sleep(2);
      now--;
      return "200";
    });
  };
  const greedy = Array.from({ length: 8 }, () => serve("ada"));
  const modest = serve("alan");
  const answers = await Promise.all(greedy);
  print(
    `8 requests of one user: ${answers.filter((answer) => answer === "200").length} served, then ${answers.at(-1)}`,
  );
  print(`one of another user: ${await modest}, at most ${most} at a time`);
  const others = await Promise.all(["grace", "barbara", "edsger"].map(serve));
  print(`three more users, with 8 requests a minute for all: ${others.join("; ")}`);
  print(`entries left: ${running.size} held, ${each.size} with starts in the last minute`);
}

if (import.meta.main) await main();
