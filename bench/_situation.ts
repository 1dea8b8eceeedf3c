/**
 * Situations, the things that are measured. Each is described once: `deno bench` registers it, `deno task bench` adds the
 * peers, and `bench:compare` and `bench:report` measure it in processes of its own.
 *
 * Files of `deno bench` import nothing from `node:`: before an install, Deno has no types for it.
 */
import * as local from "../mod.ts";
import * as redis from "../lib/redis/mod.ts";
import type { Locking, Run } from "./_work.ts";

/** This module, in any revision. */
export type Lib = typeof local & typeof redis;
export type Work = typeof import("./_work.ts");
export type Iteration = () => Promise<unknown>;

export const OURS = "interlock";
export const FLOOR = "bare promises";

/** The two rows of the page that have a chart. */
export const SHARED = "one turn, while 100 tasks share a lock";
export const HAND_OVER = "one lease, while 10 tasks request the same Redis lock";

export interface Situation {
  readonly name: string;
  /** What one operation is, in the words of docs/benchmarks.md, where it is a row there. */
  readonly row?: string | undefined;
  /** How many operations an iteration has, and the name of one. */
  readonly operations: number;
  readonly operation: string;
  /** Whether `bench:compare` measures it without being asked. */
  readonly main: boolean;
  /** Whether an operation takes microseconds, so that few iterations are enough. */
  readonly isSlow: boolean;
  contenders(withPeers: boolean): Promise<string[]>;
  /** Prepares a contender. */
  iteration(contender: string, lib?: Lib): Promise<Iteration>;
}

type Make<T> = () => T | Promise<T>;

interface Spec<T> {
  readonly name: string;
  readonly row?: string | undefined;
  readonly operations: number;
  /** Default: "turn". */
  readonly operation?: string;
  readonly main?: boolean;
  readonly isSlow?: boolean;
  readonly ours: (lib: Lib) => T | Promise<T>;
  /** The least that does the same; over a server there may be none. */
  readonly floor?: Make<T>;
  /** The name of the floor. Default: bare promises. */
  readonly floorName?: string;
  /** Where the peers are: a file in peers/, and its export. */
  readonly peers?: readonly [file: string, name: string] | undefined;
  readonly play: (work: Work, one: T) => Promise<unknown>;
}

/** A lock whose guards are released. */
export function guarded(lock: Pick<local.Lock, "acquire">): Locking {
  return { acquire: () => lock.acquire(), release: (guard: local.Guard) => guard.release() };
}

/** Runs each function in something that can be held, or started. */
export function running(one: { run(fn: () => Promise<void>): Promise<unknown> }): Run {
  return (fn) => one.run(fn);
}

export function situation<T>(spec: Spec<T>): Situation {
  const { floorName = FLOOR, operation = "turn", main = false, isSlow = false, ours, floor, play, peers: where } = spec;
  // A URL object, as Deno resolves templates before they are asked for, and then looks for the packages.
  const peers = async (): Promise<Readonly<Record<string, Make<T>>>> =>
    where === undefined ? {} : (await import(new URL(`peers/${where[0]}.ts`, import.meta.url).href))[where[1]];
  return {
    ...spec,
    operation,
    main,
    isSlow,
    contenders: async (
      withPeers,
    ) => [...floor === undefined ? [] : [floorName], OURS, ...withPeers ? Object.keys(await peers()) : []],
    iteration: async (contender, lib = { ...local, ...redis }) => {
      const make = contender === OURS ? () => ours(lib) : contender === floorName ? floor : (await peers())[contender];
      if (make === undefined) throw new Error(`${spec.name} has no ${contender}`);
      const [work, one] = [await copyFor(contender === floorName ? FLOOR : contender), await make()];
      return () => play(work, one);
    },
  };
}

/** Those of every run are written out: Deno loads no computed address without a permission. */
function copyFor(contender: string): Promise<Work> {
  if (contender === FLOOR) return import("./_work.ts?for=floor");
  if (contender === OURS) return import("./_work.ts?for=ours");
  return import(`./_work.ts?for=${encodeURIComponent(contender)}`);
}

/** The number of operations that names leave out: µs an iteration are ns an operation. */
const USUAL = "1,000";

/** Iterations of a benchmark: all files together take less than a minute. */
function iterationsOf({ operations, isSlow }: Situation): number {
  return isSlow ? 8 : Math.min(200, Math.max(10, Math.round(200_000 / operations)));
}

/** Registers the situations with `deno bench`. Elsewhere it does nothing. */
export async function register(situations: readonly Situation[]): Promise<readonly Situation[]> {
  if (typeof Deno === "undefined") return situations;
  const withPeers = await variable("BENCH_PEERS") === "1";
  for (const one of situations) {
    const n = iterationsOf(one);
    const operations = one.operations.toLocaleString("en");
    const situation = operations === USUAL ? one.name : `${one.name} (${operations} ${one.operation}s)`;
    for (const contender of await one.contenders(withPeers)) {
      let iteration: Iteration | undefined;
      const fn = async () => {
        await (iteration ??= await one.iteration(contender))();
      };
      // Deno prints a summary below each group: worth its lines where there are several to compare.
      const named = withPeers
        ? { name: contender, group: situation, baseline: contender === OURS }
        : { name: `${situation}: ${contender}` };
      Deno.bench({ ...named, n, warmup: Math.ceil(n / 3), fn });
    }
  }
  return situations;
}

/** An environment variable, where it may be read without a question. */
export async function variable(name: string): Promise<string | undefined> {
  const mayRead = typeof Deno === "undefined" ||
    (await Deno.permissions.query({ name: "env", variable: name })).state === "granted";
  const { process } = globalThis as unknown as { process: { env: Record<string, string | undefined> } };
  return mayRead ? process.env[name] : undefined;
}

/** A time as a person reads it. */
export function time(ns: number): string {
  const [value, unit] = ns < 10_000 ? [ns, "ns"] : ns < 1e6 ? [ns / 1e3, "µs"] : [ns / 1e6, "ms"];
  return `${value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en")} ${unit}`;
}

export function quantile(figures: readonly number[], part: number): number {
  const sorted = [...figures].sort((a, b) => a - b);
  const at = part * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)] ?? NaN, sorted[Math.ceil(at)] ?? NaN];
  return low + (high - low) * (at - Math.floor(at));
}
