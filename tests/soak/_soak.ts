/** Runs everything together for a while, and samples the quantities that must not grow. */
import process from "node:process";
import { flushMicrotasks, type Random, until } from "../_tools.ts";
import { type Connected, connectNode } from "../redis/_clients.ts";
import { Server } from "../redis/_server.ts";
import { localKinds } from "../kinds/local.ts";
import { redisKinds } from "../kinds/redis.ts";
import { webKinds } from "../kinds/web.ts";
import { OwnLockManager } from "../web/_lock_manager.ts";
import { Series } from "./_slope.ts";
import { kindVisits, localVisits, RandomLimits, type Visit } from "./_visits.ts";

/** The number of concurrent visitors. */
const LOCAL = 60;
const REMOTE = 12;
/** As many visits as a soak has at least, however short it is. */
const MANY = 200;

export interface Outcome {
  readonly visits: number;
  readonly cancelled: number;
  /** Errors that no caller should ever see. */
  readonly errors: readonly string[];
  readonly series: readonly Series[];
  /** In MB, after a collection, at the end. */
  readonly heap: number;
  /** What is still there at the end: keys that Redis keeps for good, timers that are set, connections. */
  readonly left: readonly string[];
}

/** Counts timers that are set and have not fired. */
class Timers {
  readonly #real = { setTimeout, clearTimeout };
  readonly #set = new Map<unknown, string>();

  constructor() {
    const { setTimeout: set, clearTimeout: clear } = this.#real;
    const replaced = globalThis as unknown as Record<string, unknown>;
    replaced.setTimeout = (fn: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
      const timer = set(() => {
        this.#set.delete(timer);
        fn(...args);
      }, ms);
      this.#set.set(timer, `a timer of ${ms} ms`);
      return timer;
    };
    replaced.clearTimeout = (timer: unknown) => {
      this.#set.delete(timer);
      clear(timer as number);
    };
  }

  get count(): number {
    return this.#set.size;
  }

  texts(): string[] {
    return [...this.#set.values()];
  }

  restore(): void {
    Object.assign(globalThis, this.#real);
  }
}

/** @param observe Begins to observe everything; what it returns ends that. */
export async function soak(
  seconds: number,
  random: Random,
  observe: () => () => void | Promise<void>,
  onSample: (text: string) => void = () => {},
): Promise<Outcome> {
  const timers = new Timers();
  const server = await Server.start();
  const connected: Connected[] = [await connectNode(server.url), await connectNode(server.url)];
  const limits = new RandomLimits(random);
  const start = performance.now();
  const elapsed = () => (performance.now() - start) / 1000;
  const counts = { visits: 0, cancelled: 0 };
  const errors: string[] = [];
  let over = false;

  const actor = async (kinds: readonly Visit[]) => {
    while (!over) {
      try {
        await random.pick(kinds)();
      } catch (error) {
        if (!isCancelled(error)) errors.push(String(error));
        counts.cancelled++;
        await flushMicrotasks();
      }
      counts.visits++;
      if (random.below(200) === 0) limits.abortShared();
    }
  };
  const unobserve = observe();
  try {
    const locks = new OwnLockManager();
    const needs = connected.map(({ backend }) => ({ backend, locks }));
    const local = [
      ...localVisits(random, limits),
      ...kindVisits({ ...localKinds, ...webKinds }, needs[0]!, limits),
    ];
    const remote = needs.flatMap((one) => kindVisits(redisKinds, one, limits));
    const actors = [
      ...Array.from({ length: LOCAL }, () => actor(local)),
      ...Array.from({ length: REMOTE }, () => actor(remote)),
    ];
    const series = await sample(seconds, elapsed, server, timers, counts, onSample);
    await until(() => counts.visits > MANY && counts.cancelled > 0); // a machine that was busy takes longer
    over = true;
    await Promise.all(actors);
    await unobserve();
    const keys = await keysWithoutExpiry(server);
    for (const one of connected) await one.close();
    const set = timers.texts();
    // Only the one that asks; the server may notice the end of others a little later.
    const others = async () => await connections(server) - 1;
    await until(async () => await others() === 0).catch(() => {});
    const open = Array.from({ length: await others() }, () => "a connection");
    return { ...counts, errors, series, heap: series[0]!.last, left: [...keys, ...set, ...open] };
  } finally {
    over = true;
    await unobserve(); // again, or for the first time after an error, as what follows
    for (const one of connected) await one.close();
    await server[Symbol.asyncDispose]();
    timers.restore();
  }
}

/** Collects the garbage. The run-time has to be started with --expose-gc, but for Bun. */
function collect(): void {
  const { gc, Bun } = globalThis as { gc?: () => void; Bun?: { gc(sync: boolean): void } };
  if (Bun === undefined) gc?.();
  else Bun.gc(true);
}

async function connections(server: Server): Promise<number> {
  return Number(/connected_clients:(\d+)/.exec(String(await server.send("INFO", "clients")))?.[1]);
}

async function keysWithoutExpiry(server: Server): Promise<string[]> {
  const kept: string[] = [];
  for (const key of await server.send("KEYS", "*") as string[]) {
    if (await server.send("PTTL", key) === -1) kept.push(key);
  }
  return kept;
}

function isCancelled(error: unknown): boolean {
  return error instanceof Error && (error.name === "TimeoutError" || error.message === "cancelled");
}

async function sample(
  seconds: number,
  elapsed: () => number,
  server: Server,
  timers: Timers,
  counts: { readonly visits: number },
  onSample: (text: string) => void,
): Promise<Series[]> {
  const heap = new Series("heap, MB", 4);
  const timer = new Series("timers", 20);
  const keys = new Series("keys in Redis", 20);
  const clients = new Series("connections", 1);
  const series = [heap, timer, keys, clients];
  const warm = seconds / 4; // caches and code fill up first
  const every = Math.max(0.1, Math.min(5, seconds / 40));
  for (let next = every; next <= seconds; next += every) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, (next - elapsed()) * 1000)));
    collect();
    const values = [
      process.memoryUsage().heapUsed / 1e6,
      timers.count,
      Number(await server.send("DBSIZE")),
      await connections(server),
    ];
    if (elapsed() < warm) continue;
    values.forEach((value, i) => series[i]!.add(elapsed(), value));
    const texts = series.map(({ name }, i) => `${name} ${Math.round(values[i]! * 10) / 10}`);
    onSample(`${elapsed().toFixed(0)} s: ${counts.visits} visits, ${texts.join(", ")}`);
  }
  return series;
}
