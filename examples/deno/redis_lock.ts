/**
 * Locks across machines in Deno, over jsr:@db/redis: two connections, one for commands and one for push.
 *
 *     REDIS_URL=redis://127.0.0.1:6379 deno run -A examples/deno/redis_lock.ts
 */
import { connect, parseURL } from "@db/redis";
import { delay } from "@std/async/delay";
import { denoRedis, RedisKeyedMutex, RedisLock } from "@interlock/interlock/redis";

/** The stock of one article, as a database would keep it: two writers at once lose an update. */
class Stock {
  left: number;

  constructor(left: number) {
    this.left = left;
  }

  async take(): Promise<void> {
    const { left } = this;
    await delay(1);
    this.left = left - 1;
  }
}

export async function main(print: (line: string) => void = console.log, url = Deno.env.get("REDIS_URL")) {
  if (!url) throw new Error("Cannot connect to Redis: set REDIS_URL, such as redis://127.0.0.1:6379");
  // This client cannot send commands on a connection that is subscribed: the second connection is for push, so that a
  // waiter learns of its turn at once. Without it, waiters use heartbeats.
  const client = await connect(parseURL(url));
  const subscriber = await connect(parseURL(url));
  try {
    const backend = denoRedis(client, subscriber);

    const stock = new Stock(10);
    const lock = new RedisLock(backend, "stock");
    await Promise.all(Array.from({ length: 3 }, () => lock.run(() => stock.take())));
    print(`one lock for all: ${stock.left} left after 3 of 10 were taken`);

    const stocks = new Map([["apples", new Stock(10)], ["pears", new Stock(10)]]);
    const mutex = new RedisKeyedMutex(backend);
    const orders = ["apples", "pears", "apples", "apples", "pears"];
    await Promise.all(orders.map((article) => mutex.run(article, () => stocks.get(article)!.take())));
    print(`one queue for each article: ${stocks.get("apples")!.left} apples, ${stocks.get("pears")!.left} pears left`);

    // A lease is disposed of asynchronously. Send its token with every write to the resource.
    await using lease = await lock.acquire({ timeout: 1000 });
    print(`a lease with a fencing token: ${lease.held && Number.isSafeInteger(lease.fencingToken)}`);
  } finally {
    // The adapter never closes a connection that it did not open.
    client.close();
    subscriber.close();
  }
}

if (import.meta.main) await main();
