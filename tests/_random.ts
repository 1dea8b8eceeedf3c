/**
 * Repeatable randomness, and how far random and exhaustive tests go. The everyday tests are shallow and take the first
 * seed, so they are the same each time. TEST_DEPTH=deep goes deeper and takes all seeds; CI does it in a step of its own.
 * SEED=n runs that seed alone, which is how `deno task test:deep --minutes N` tries new ones.
 */

const { env = {} } = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process ?? {};

/** A seed that found a fault joins the list, with a comment that names the fault. */
const SEEDS: readonly number[] = [1, 2, 3];

/** The first in the everyday tests, the second in the deep run. */
export function deeply<T>(everyday: T, deep: T): T {
  return env.TEST_DEPTH === "deep" ? deep : everyday;
}

/** Whole numbers from 0 to `below` - 1, the same ones for the same seed (mulberry32, by Tommy Ettinger). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  below(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor(((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32 * below);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }
}

/** Calls `fn` with a random source for each seed, one after the other. A failure names the seed. */
export async function seeded(fn: (random: Random) => Promise<void>): Promise<void> {
  const seeds = env.SEED !== undefined ? [Number(env.SEED)] : deeply(SEEDS.slice(0, 1), SEEDS);
  for (const seed of seeds) {
    try {
      await fn(new Random(seed));
    } catch (error) {
      throw new Error(`failed with SEED=${seed}`, { cause: error });
    }
  }
}
