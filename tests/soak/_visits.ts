/** Random use of everything in one process: each function is one visit. */
import {
  GracefulShutdown,
  KeyedMutex,
  KeyedSemaphore,
  Pool,
  Queue,
  RateLimiter,
  Semaphore,
  TaskGroup,
} from "../../mod.ts";
import type { WaitOptions } from "../../mod.ts";
import type { Kinds, Needs } from "../kinds/kind.ts";
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

/** For each call of each kind: it waits, perhaps with limits, and is let go a turn later. All visitors share the things. */
export function kindVisits(kinds: Kinds, needs: Needs, limits: RandomLimits): Visit[] {
  return Object.values(kinds).flatMap(({ make, calls }) =>
    Object.values(calls(make({ name: "soak" }, needs))).map(({ wait, block }) => async () => {
      const unblock = await block?.();
      const waits = wait(limits.options());
      waits.catch(() => {});
      await turn();
      await unblock?.();
      await waits;
    })
  );
}

/** What takes more than one call: many keys, producers and consumers, maps, servers. */
export function localVisits(random: Random, limits: RandomLimits): Visit[] {
  const semaphore = new Semaphore(4);
  const keys = [new KeyedMutex<number>(), new KeyedSemaphore<number>(2)];
  const items = new Queue<number>(3);
  const pool = new Pool(4);
  const rated = new Pool(4, { rate: new RateLimiter(1000, 10) });
  return [
    () => semaphore.run(turn, { ...limits.options(), permits: 1 + random.below(3) }),
    ...keys.map((one) => () => one.run(random.below(1_000_000), turn, limits.options())),
    ...keys.map((one) => () => one.run(random.below(3), turn, limits.options())),
    () => items.put(1, { timeout: 5 }),
    () => items.get({ timeout: 5 }),
    () =>
      TaskGroup.scope(async (group) => {
        for (let i = 0; i < 3; i++) group.run(turn);
        if (random.below(3) === 0) throw new Error("cancelled");
        await turn();
      }),
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
