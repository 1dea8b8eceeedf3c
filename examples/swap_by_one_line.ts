/** A service that does not know whether its lock is for one process or for many. With REDIS_URL it is a Redis lock. */
import { type Acquirable, Lock } from "@interlock/interlock";
import { RedisLock } from "@interlock/interlock/redis";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, start } from "./shared/redis.ts";

class Stock {
  #left = 10;
  readonly #lock: Acquirable<AsyncDisposable>;

  constructor(lock: Acquirable<AsyncDisposable>) {
    this.#lock = lock;
  }

  async sell(): Promise<boolean> {
    await using _ = await this.#lock.acquire({ timeout: 5000 });
    const left = this.#left;
    await sleep(1);
    if (left === 0) return false;
    this.#left = left - 1;
    return true;
  }
}

export async function main(print: (line: string) => void = console.log, url = process.env.REDIS_URL) {
  const redis = url ? await connect(url) : undefined;
  const lock = redis ? new RedisLock(redis.backend, "stock") : new Lock(); // the one line
  const stock = new Stock(lock);
  const sold = await Promise.all(Array.from({ length: 15 }, () => stock.sell()));
  print(`${redis ? "across processes" : "in one process"}: sold ${sold.filter(Boolean).length} of 10`);
  redis?.close();
}

if (import.meta.main) await start(main);
