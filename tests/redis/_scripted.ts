/**
 * A server whose replies are scripted by the test, without a connection: for behaviour that depends on the moment of a
 * reply, or on its absence.
 */
import { type Backend, RedisLock, RedisRateLimiter, RedisSemaphore } from "../../lib/redis/mod.ts";
import { test } from "../_test.ts";
import { type FakeTime, withFakeTime } from "../_tools.ts";
import { type Command, commandOf } from "./_command_of.ts";

/** The token of such a server: it moves with the monotonic clock, also with a fake one. */
export function serverTime(): number {
  return 1e15 + Math.floor(performance.now() * 1000);
}

/** The reply to a queued call. By default no life ends soon, and its subscription can be notified. */
export function queuedReply(
  { endsIn = 3_600_000, isUnsubscribed = false, goOn = false, position = 1 } = {},
): number[] {
  return [0, position, serverTime(), endsIn, Number(!isUnsubscribed), Number(goOn), 0];
}

/** A reply that never comes. */
export const nothing: Promise<never> = new Promise(() => {});

/** Replies with the result of `answer`; if that is undefined, as a server does for a free lock. */
export function scripted(answer: (command: Command, args: string[]) => unknown): Backend {
  const run = async (_: string, keys: string[], args: string[]) => {
    const command = commandOf(keys, args);
    return await answer(command, args) ?? usual(command, args);
  };
  return { evalsha: run, eval: run };
}

/** The same backend, of a client that `close` closes. */
export function closable(backend: Backend): { backend: Backend & { readonly closed: boolean }; close: () => void } {
  const listeners: (() => void)[] = [];
  const client = { ...backend, closed: false, onClose: (listener: () => void) => void listeners.push(listener) };
  const close = () => {
    client.closed = true;
    for (const listener of listeners) listener();
  };
  return { backend: client, close };
}

/** Registers a test under a fake clock, which scripted servers share. */
export function fakeTimeTest(name: string, fn: (time: FakeTime) => void | Promise<void>): void {
  test(name, async () => {
    await computeDigests();
    await withFakeTime(async (time) => await fn(time));
  });
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
  if (command === "load") return [];
  if (command === "verify") return [1e6];
  if (command === "renew") return args.map(() => 1);
  if (command === "release") return [1, 0, 0];
  return command === "acquire" ? [1, serverTime()] : [1, serverTime(), 1, 30_000];
}
