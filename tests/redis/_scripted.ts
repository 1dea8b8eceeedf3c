/**
 * A server whose replies are scripted by the test, without a connection: for behaviour that depends on the moment of a
 * reply, or on its absence.
 */
import { type Backend, RedisLock, RedisRateLimiter, RedisSemaphore } from "../../lib/redis/mod.ts";

export type Command = "greet" | "acquire" | "release" | "renew" | "verify";

/** The time of such a server in microseconds: it moves with the monotonic clock, also with a fake one. */
export function serverTime(): number {
  return 1e15 + Math.floor(performance.now() * 1000);
}

/** The reply to a queued call. By default nothing ahead of it ends soon, and its subscription can be notified. */
export function queuedReply({ askAt = 0, deaf = false, goOn = false } = {}): number[] {
  return [0, serverTime(), 1, askAt, Number(deaf), Number(goOn)];
}

/** A reply that never comes. */
export const nothing: Promise<never> = new Promise(() => {});

/** Identifies a command by its keys and arguments. */
function commandOf(keys: string[], args: string[]): Command {
  if (keys.length === 0) return "greet";
  if (keys.length === 1 && args.length === 2) return "verify";
  if (args[1] === "all" || args[1] === "own") return "renew";
  return ["", "force", "serve"].includes(args[2]!) ? "release" : "acquire";
}

/** Replies with the result of `answer`; if that is undefined, as a server does for a free lock. */
export function scripted(answer: (command: Command, args: string[]) => unknown): Backend {
  const run = async (_: string, keys: string[], args: string[]) => {
    const command = commandOf(keys, args);
    return await answer(command, args) ?? usual(command, args);
  };
  return { evalsha: run, eval: run };
}

/** Computes the scripts' digests, for which the first command waits some turns: before a test replaces the clock. */
export async function computeDigests(): Promise<void> {
  const backend = scripted(() => undefined);
  for (const lock of [new RedisLock(backend, "a"), new RedisSemaphore(backend, "a", 1)]) {
    const lease = await lock.acquire();
    await lease.extend();
    await lease.verify();
    await lease.release();
  }
  const down = () => Promise.reject(new Error("down"));
  await new RedisRateLimiter({ evalsha: down, eval: down }, "a", 1, 1000).acquire({ timeout: 0 }).catch(() => {});
}

function usual(command: Command, args: string[]): unknown {
  const time = serverTime();
  if (command === "greet") return time;
  if (command === "verify") return [time, 1e6];
  if (command === "renew") return [time, ...Array.from({ length: (args.length - 3) / 4 }, () => 1)];
  return command === "release" ? [1, time, 0] : [1, time, time, 1, time + 3e7]; // the last two: of an adopted hold
}
