/** Random use of everything in one process: each function is one visit. */
import {
  Barrier,
  Condition,
  Event,
  GracefulShutdown,
  KeyedMutex,
  Lock,
  Pool,
  RateLimiter,
  RwLock,
  Semaphore,
  SetEvent,
  TimeoutLock,
  type WaitOptions,
} from "../../mod.ts";
import type { Random } from "../_tools.ts";

export type Visit = () => Promise<unknown>;

/** Half of the calls may be cancelled: by a signal of their own, a shared one, or a time-out. */
export class RandomLimits {
  readonly #random: Random;
  #shared = new AbortController();

  constructor(random: Random) {
    this.#random = random;
  }

  options(): WaitOptions | undefined {
    const kind = this.#random.below(8);
    if (kind === 0) return { timeout: this.#random.below(4) };
    if (kind === 1) return { signal: this.#own() };
    if (kind === 2) return { signal: this.#shared.signal };
    if (kind === 3) return { signal: this.#shared.signal, timeout: 1 + this.#random.below(9) };
    return undefined;
  }

  /** All calls with the shared signal are cancelled. */
  abortShared(): void {
    this.#shared.abort(new Error("cancelled"));
    this.#shared = new AbortController();
  }

  #own(): AbortSignal {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("cancelled")), this.#random.below(4));
    return controller.signal;
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

/** All kinds of visits. */
export function localVisits(random: Random, limits: RandomLimits): Visit[] {
  const locks = [new Lock(), new TimeoutLock(5), new RwLock().reader, new RwLock().writer];
  const semaphore = new Semaphore(4);
  const keyed = new KeyedMutex<number>();
  const event = new Event();
  const condition = new Condition();
  const barrier = new Barrier(3);
  const set = new SetEvent<Promise<unknown>>();
  const pool = new Pool(4);
  const rated = new Pool(4, { rate: new RateLimiter(1000, 10) });
  return [
    ...locks.map((lock) => () => lock.run(turn, limits.options())),
    () => semaphore.run(turn, { ...limits.options(), permits: 1 + random.below(3) }),
    () => keyed.run(random.below(1_000_000), turn, limits.options()),
    () => keyed.run(random.below(3), turn, limits.options()),
    async () => {
      const waiting = event.wait({ timeout: 5 });
      if (random.below(2) === 0) event.set();
      await waiting.finally(() => event.clear());
    },
    () => condition.run(() => condition.wait({ timeout: 2 })),
    () => condition.run(() => condition.notify(random.below(3))),
    () => barrier.wait({ timeout: 5 }),
    () => set.track(turn()),
    () => set.wait({ timeout: 3 }),
    () => pool.run(turn, limits.options()),
    async () => await (await pool.createTask(turn, limits.options())).result,
    async () => {
      for await (const _ of pool.map([1, 2, 3, 4, 5, 6], turn)) if (random.below(8) === 0) break;
    },
    async () => {
      await rated.map([1, 2, 3, 4, 5, 6], turn, { ordered: random.below(2) === 0 }).toArray();
    },
    () => rated.run(turn, limits.options()),
    async () => {
      rated.limit = 0;
      await turn();
      rated.limit = 4;
    },
    () => serve(random),
  ];
}

/** A server's life in small: requests that are read to the end, cancelled, or come too late. */
async function serve(random: Random): Promise<void> {
  const shutdown = new GracefulShutdown({ grace: 50, signals: [] });
  const handler = shutdown.handler(async () => {
    await turn();
    return new Response("x".repeat(1000));
  });
  const responses = Array.from({ length: 3 }, () => Promise.resolve(handler(new Request("http://localhost/"))));
  if (random.below(2) === 0) await Promise.all(responses);
  shutdown.request("soak");
  for (const response of await Promise.all(responses)) {
    await (random.below(2) === 0 ? response.body?.cancel() : response.text());
  }
  await shutdown.finished;
}
