/**
 * Orders of one user one at a time, on several machines, with a database that refuses a machine whose lease was lost:
 * each write carries the fencing token, the first insert too.
 */
import { type Backend, LeaseLostError, memoryBackend, RedisKeyedMutex } from "@interlock/interlock/redis";

/** A table of orders with a column for the token. In SQL, where 0 changed rows mean that the writer was overtaken: */
export class Orders {
  readonly #rows = new Map<string, { text: string; token: number }>();

  /**
   * `INSERT INTO orders (user, text, token) VALUES ($1, $2, $3)
   *  ON CONFLICT (user) DO UPDATE SET text = $2, token = $3 WHERE orders.token <= $3`. A row is never deleted: without its
   * token, a late insert would pass.
   */
  async write(user: string, text: string, token: number): Promise<boolean> {
    await Promise.resolve();
    const row = this.#rows.get(user);
    if (row !== undefined && row.token > token) return false;
    this.#rows.set(user, { text, token });
    return true;
  }

  read(user: string): string | undefined {
    return this.#rows.get(user)?.text;
  }
}

export class OrderService {
  readonly #orders: Orders;
  readonly #users: RedisKeyedMutex;

  constructor(backend: Backend, orders: Orders) {
    this.#orders = orders;
    this.#users = new RedisKeyedMutex(backend, { ttl: 10_000 });
  }

  /** `charge` gets a signal that aborts when the lease is lost. */
  place(user: string, text: string, charge: (signal: AbortSignal) => Promise<void>): Promise<void> {
    return this.#users.run(user, async ({ signal, fencingToken }) => {
      await charge(signal);
      signal.throwIfAborted();
      if (!await this.#orders.write(user, text, fencingToken)) {
        throw new LeaseLostError(`Cannot place the order of ${user}: another machine has the user's lease`);
      }
    }, { timeout: 2000 });
  }

  /** For the operator of a machine that hangs: the next one in the queue goes on. */
  revoke(user: string): Promise<boolean> {
    return this.#users.forceRelease(user);
  }
}

export async function main(print: (line: string) => void = console.log) {
  const orders = new Orders();
  const backend = memoryBackend(); // in production: nodeRedis(client), ioRedis(client), …
  const [one, another] = [new OrderService(backend, orders), new OrderService(backend, orders)];
  let resume = () => {};
  const paused = new Promise<void>((resolve) => resume = resolve);

  let begun = () => {};
  const charging = new Promise<void>((resolve) => begun = resolve);
  const late = one.place("ada", "from the paused machine", () => (begun(), paused));
  await charging;
  await one.revoke("ada");
  await another.place("ada", "from the other machine", () => Promise.resolve());
  resume();
  print(await late.then(() => "both were placed", (error: Error) => `refused: ${error.name}`));
  print(`the order: ${orders.read("ada")}`);
}

if (import.meta.main) await main();
