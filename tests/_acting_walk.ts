/**
 * Random walks in which everything that is called back acts: observers, and functions that run. A walk says which acts there
 * are, and the conditions after each of them and at the end.
 */
import { observe } from "../lib/diagnostics/mod.ts";
import type { WaitOptions } from "../mod.ts";
import {
  CountingController,
  deeply,
  type FakeTime,
  flushMicrotasks,
  type Random,
  seeded,
  watch,
  type Watched,
  withFakeTime,
} from "./_tools.ts";

/** How deep callbacks act inside of callbacks. */
const DEEPEST = 3;

export abstract class ActingWalk {
  readonly random: Random;
  readonly time: FakeTime;
  depth = 0;
  readonly calls: Watched<unknown>[] = [];
  /** The signals of calls, which the walk aborts. */
  readonly signals: CountingController[] = [];
  readonly #allSignals: CountingController[] = [];
  /** The guards and leases that calls were granted. */
  readonly held: { release(): unknown }[] = [];
  /** End the functions that run. */
  readonly running = new Set<(fails: boolean) => void>();
  /** The text of each call, for the message of a failure. */
  readonly #texts = new Map<Watched<unknown>, string>();

  constructor(random: Random, time: FakeTime) {
    this.random = random;
    this.time = time;
  }

  /** Called back in the middle of something. */
  callback(): void {
    if (this.depth >= DEEPEST || this.random.below(4) > 0) return;
    this.depth++;
    try {
      this.act();
    } finally {
      this.depth--;
    }
  }

  /** The time-outs of calls. */
  protected readonly timeouts: readonly number[] = [0, 7, 13, 29, Infinity];

  protected watch(text: string, call: Promise<unknown>): void {
    const watched = watch(call);
    this.calls.push(watched);
    this.#texts.set(watched, text);
  }

  /** Makes a call, often with a signal and a time-out. */
  protected call<T>(text: string, fn: (options?: WaitOptions) => Promise<T>): Promise<T> {
    const { random } = this;
    const controller = new CountingController();
    const timeout = random.pick(this.timeouts);
    const options = random.below(3) > 0 ? { signal: controller.signal, timeout } : undefined;
    if (options !== undefined) this.signals.push(controller);
    this.#allSignals.push(controller);
    const call = promised(() => fn(options));
    this.watch(`${text}, ${options?.timeout}`, call);
    call.then((held) => {
      if (typeof (held as { release?: unknown } | undefined)?.release === "function") this.held.push(held as never);
    }, () => {});
    return call;
  }

  /** The calls that have not ended. */
  get pending(): (string | undefined)[] {
    return this.calls.filter(({ state }) => state === "pending").map((call) => this.#texts.get(call));
  }

  /** How many listeners the signals of all calls have. */
  get listening(): number {
    return this.#allSignals.reduce((sum, { listeners }) => sum + listeners, 0);
  }

  /** A function that ends when a step ends it, or, sometimes, when its signal aborts. */
  protected work(signal: AbortSignal): Promise<void> | void {
    this.callback();
    if (this.random.below(8) === 0) throw new Error("at once");
    if (this.random.below(8) === 0) return;
    return new Promise((resolve, reject) => {
      const end = (fails: boolean) => {
        if (!this.running.delete(end)) return;
        this.callback();
        if (fails) reject(new Error("failed"));
        else resolve();
      };
      this.running.add(end);
      if (this.random.below(2) === 0) return;
      signal.addEventListener("abort", () => {
        if (this.running.delete(end)) reject(signal.reason);
        this.callback();
      });
    });
  }

  /** Releases or ends one of its own, aborts a signal, or lets time pass. */
  protected common(): void {
    const { random, held, signals, running } = this;
    random.pick([
      () => random.pick([...running, () => {}])(random.below(6) === 0),
      () => void take(held, random)?.release(),
      () => take(signals, random)?.abort(new Error("aborted")),
      () => void (this.depth === 0 && this.time.advance(random.below(30))),
    ])();
  }

  /** From now on nothing acts any more. */
  protected calmDown(): void {
    this.depth = DEEPEST;
  }

  abstract act(): void;
  /** Throws unless everything is sound. */
  abstract check(): void;
  /** Closes and releases everything, and asserts that nothing is left. */
  abstract end(): Promise<void>;
}

function take<T>(list: T[], random: Random): T | undefined {
  return list.splice(random.below(list.length || 1), 1)[0];
}

/** A call of a closed thing may throw. */
function promised<T>(fn: () => Promise<T>): Promise<T> {
  try {
    return fn();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Makes this many walks of this many steps, and a fifth of the walks in the everyday tests. */
export function walkActing(
  walks: number,
  steps: number,
  make: (random: Random, time: FakeTime) => ActingWalk,
): Promise<void> {
  return seeded(async (random) => {
    for (let i = 0; i < deeply(walks / 5, walks); i++) {
      await withFakeTime(async (time) => {
        const walk = make(random, time);
        const act = () => walk.callback();
        const listening = observe({ wait: act, grant: act, giveUp: act, release: act });
        try {
          for (let step = 0; step < steps; step++) {
            walk.act();
            walk.check();
            if (random.below(2) === 0) await flushMicrotasks();
            walk.check();
          }
          await walk.end();
        } finally {
          listening[Symbol.dispose]();
        }
      });
    }
  });
}
