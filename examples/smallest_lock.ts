/**
 * The smallest Redis lock there is (SET NX, DEL) returns true or false at once, and has two faults: any caller can
 * release it, and a crashed holder blocks it forever. Below are the same two methods without these faults.
 */
import { type Backend, type Lease, RedisLock, type RedisOptions } from "@interlock/interlock/redis";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, start } from "./shared/redis.ts";

class SmallestLock {
  readonly #lock: RedisLock;
  #lease: Lease | undefined;

  constructor(backend: Backend, name: string, options?: RedisOptions) {
    this.#lock = new RedisLock(backend, name, options);
  }

  async acquire(): Promise<boolean> {
    const lease = await this.#lock.tryAcquire();
    this.#lease = lease ?? this.#lease;
    return lease !== undefined;
  }

  async release(): Promise<boolean> {
    return await this.#lease?.release() ?? false;
  }
}

export async function main(print: (line: string) => void = console.log, url?: string) {
  const { backend, close } = await connect(url);
  const [mine, yours] = [new SmallestLock(backend, "a"), new SmallestLock(backend, "a")];
  print(`first one gets it: ${await mine.acquire()}, second one: ${await yours.acquire()}`);
  print(`another caller releases it: ${await yours.release()}, the holder does: ${await mine.release()}`);
  // As after a crash: no renewal and no release.
  const crashed = new SmallestLock(backend, "b", { ttl: 3000, renew: false });
  await crashed.acquire();
  const next = new SmallestLock(backend, "b");
  let tries = 1;
  while (!await next.acquire()) {
    tries++;
    await sleep(20);
  }
  print(`after a crash it is free again by itself: ${tries > 1}`);
  await next.release();
  close();
}

if (import.meta.main) await start(main);
