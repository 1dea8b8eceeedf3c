/**
 * Runs situations in rounds: contenders take turns, in an order drawn anew for each round, and the garbage of one is
 * collected before the next one starts. The first rounds, in which they are compiled, do not count.
 */
import * as here from "../mod.ts";
import type { Lib, Maker, Round, Situation } from "./_situation.ts";

/** The figures of one contender in one situation. */
export interface Row {
  readonly situation: string;
  readonly unit: Situation["unit"];
  readonly contender: string;
  readonly kind: "ours" | "peer" | "floor";
  readonly median: number;
  /** Half of the rounds lie within this part of the median. */
  readonly spread: number;
  /** The first round, in a process that has run nothing else. Only in rows of a process for this contender alone. */
  readonly cold?: number;
}

export interface Options {
  readonly rounds: number;
  /** Warm-up rounds before them, which do not count. Default: 3. */
  readonly warmUp?: number;
  /** The only contender; its first round is its cold figure. Default: all, in turns. */
  readonly only?: string;
  /** Another revision of this module. Default: this tree. */
  readonly lib?: Lib;
}

interface Entrant {
  readonly name: string;
  readonly kind: Row["kind"];
  readonly make: Maker;
  readonly figures: number[];
  cold?: number;
  /** Kept until the next one: code whose objects were all collected would be compiled again. */
  round?: Round;
}

/** The contenders of one situation, one after the other in each round. */
export async function measure(
  situation: Situation,
  { rounds, warmUp = WARM_UP, only, lib = here }: Options,
): Promise<Row[]> {
  const entrants = [...entrantsOf(situation, lib)].filter(({ name }) => only === undefined || name === only);
  const { rounds: enough = Infinity } = situation;
  const skipped = Math.min(warmUp, enough);
  for (let round = 0; round < Math.min(rounds, enough) + skipped; round++) {
    for (const entrant of shuffled(entrants)) {
      const figure = await once(entrant, situation.operations, SCALE[situation.unit] ?? 1);
      if (round >= skipped) entrant.figures.push(figure);
      if (only !== undefined) entrant.cold ??= figure;
    }
  }
  return entrants.map((entrant) => rowOf(situation, entrant));
}

function rowOf({ name: situation, unit }: Situation, { name: contender, kind, figures, cold }: Entrant): Row {
  const [low, median, high] = [0.25, 0.5, 0.75].map((part) => quantile(figures, part)) as [number, number, number];
  const spread = median === 0 ? 0 : (high - low) / median;
  return { situation, unit, contender, kind, median, spread, ...(cold === undefined ? {} : { cold }) };
}

const WARM_UP = 3;

/** Only where the run-time was started with its garbage collector exposed. */
const { gc: collect } = globalThis as { gc?: (options: object) => void };

function shuffled<T>(items: readonly T[]): T[] {
  return items.map((item) => ({ item, at: Math.random() })).sort((a, b) => a.at - b.at).map(({ item }) => item);
}

/** Milliseconds to the situation's unit. */
const SCALE: Partial<Record<Situation["unit"], number>> = { ns: 1e6, "µs": 1e3 };

function* entrantsOf({ ours, peers, floors }: Situation, lib: Lib): Iterable<Entrant> {
  for (const [name, make] of Object.entries(ours)) yield { name, kind: "ours", make: make(lib), figures: [] };
  for (const [name, make] of Object.entries(peers)) yield { name, kind: "peer", make, figures: [] };
  for (const [name, make] of Object.entries(floors ?? {})) yield { name, kind: "floor", make, figures: [] };
}

async function once(entrant: Entrant, operations: number, scale: number): Promise<number> {
  const round = entrant.round = await entrant.make();
  const start = performance.now();
  const figure = await round();
  const time = performance.now() - start;
  await new Promise((resolve) => setTimeout(resolve)); // garbage of this one must not burden the next
  collect?.({ type: "minor" });
  return figure ?? time * scale / operations;
}

export function quantile(figures: readonly number[], part: number): number {
  const sorted = [...figures].sort((a, b) => a - b);
  const at = part * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)] ?? NaN, sorted[Math.ceil(at)] ?? NaN];
  return low + (high - low) * (at - Math.floor(at));
}
