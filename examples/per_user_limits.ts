/** A service for many users: no user may take all of it, neither at a time nor per minute. */
import { KeyedRateLimiter, KeyedSemaphore } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

export async function main(print: (line: string) => void = console.log) {
  const [running, starts] = [new KeyedSemaphore<string>(2), new KeyedRateLimiter<string>(5, 60_000)];
  let [now, most] = [0, 0];
  const serve = async (user: string) => {
    if (!starts.tryAcquire(user)) return `429, Retry-After: ${Math.ceil(starts.retryAfter(user) / 1000)}`;
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
  print(`entries left: ${running.size} held, ${starts.size} with starts in the last minute`);
}

if (import.meta.main) await main();
