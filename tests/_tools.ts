/**
 * Shared tools of the tests: promises observed without waiting for them, counted signals and timers, a clock that moves
 * only by `advance`, and the repeatable randomness of _random.ts.
 */
import assert from "node:assert/strict";

export { deeply, Random, seeded } from "./_random.ts";

/** Runs everything that only waits for microtasks. */
export async function flushMicrotasks(): Promise<void> {
  for (let i = 0; i < 30; i++) await Promise.resolve();
}

/** Lets timers and I/O have a turn, too. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/**
 * Polls until the condition holds; one that throws does not hold yet. The limit is for a slow machine, and only a condition
 * that never holds gets there.
 */
export async function until(condition: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
  const end = performance.now() + ms;
  for (let cause: unknown;;) {
    try {
      if (await condition()) return;
    } catch (error) { // such as a server that a busy machine does not let answer in time
      cause = error;
    }
    if (performance.now() > end) throw new Error(`it took more than ${ms} ms: ${condition}`, { cause });
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** For `await using`: calls `fn` at the end of the block, whether the test passes or fails. */
export function ending(fn: () => unknown): AsyncDisposable {
  return { [Symbol.asyncDispose]: async () => void await fn() };
}

/** A promise, and the functions that settle it. */
export function deferred<T = void>(): {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
} {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((yes, no) => [resolve, reject] = [yes, no]);
  return { promise, resolve, reject };
}

/** A promise and its state, readable at any time. */
export interface Watched<T> {
  state: "pending" | "fulfilled" | "rejected";
  value?: T;
  reason?: unknown;
  readonly promise: Promise<T>;
}

/** Watches a promise; its rejection counts as handled. */
export function watch<T>(promise: Promise<T>): Watched<T> {
  const watched: Watched<T> = { state: "pending", promise };
  promise.then(
    (value) => Object.assign(watched, { state: "fulfilled", value }),
    (reason) => Object.assign(watched, { state: "rejected", reason }),
  );
  return watched;
}

/** The states of several, once microtasks are through. */
export async function states(watched: readonly Watched<unknown>[]): Promise<string> {
  await flushMicrotasks();
  return watched.map((one) => one.state).join(" ");
}

/** Asserts that the promise rejects with exactly this reason, not a copy and not wrapped. */
export async function rejectsWith(promise: Promise<unknown>, reason: unknown): Promise<void> {
  const watched = watch(promise);
  await promise.catch(() => {});
  assert.equal(watched.state, "rejected");
  assert.ok(Object.is(watched.reason, reason), `rejected with ${watched.reason} instead of ${reason}`);
}

/** An AbortController whose signal counts its listeners. */
export class CountingController extends AbortController {
  listeners = 0;
  /** How often a listener was added, ever. */
  added = 0;

  constructor() {
    super();
    const { signal } = this;
    const add = signal.addEventListener.bind(signal) as (...args: unknown[]) => void;
    const remove = signal.removeEventListener.bind(signal) as (...args: unknown[]) => void;
    signal.addEventListener = (...args: unknown[]) => {
      this.listeners++;
      this.added++;
      add(...args);
    };
    signal.removeEventListener = (...args: unknown[]) => {
      this.listeners--;
      remove(...args);
    };
  }
}

interface FakeTimer {
  readonly at: number;
  readonly fn: () => void;
  unref(): void;
}

/** A clock that moves only by `advance`. It stands in for the timers and both clocks until it is restored. */
export class FakeTime {
  #now = 0;
  readonly #timers = new Set<FakeTimer>();
  readonly #real = { setTimeout, clearTimeout, now: performance.now, wall: Date.now };
  /** How many timers were ever set. */
  started = 0;
  /** Whether timers count from whole milliseconds, as on the platforms, so that one may fire a bit early. */
  whole = false;
  /** How many of them do not keep the process alive. */
  unreferenced = 0;

  constructor() {
    const fake = globalThis as unknown as Record<string, unknown>;
    fake.setTimeout = (fn: () => void, delay = 0) => {
      this.started++;
      // As on the platforms, a delay that does not fit into 31 bits fires at once.
      const wait = delay >= 0 && delay < 2 ** 31 ? delay : 1;
      const from = this.whole ? Math.floor(this.#now) : this.#now;
      const timer: FakeTimer = { at: from + wait, fn, unref: () => void this.unreferenced++ };
      this.#timers.add(timer);
      return timer;
    };
    fake.clearTimeout = (timer: FakeTimer) => this.#timers.delete(timer);
    const start = Date.now();
    performance.now = () => this.#now;
    Date.now = () => start + this.#now;
  }

  /** How many timers are set. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Moves the clock and fires the timers that are due on the way, in order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [due] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.fn();
    }
    this.#now = end;
  }

  /** Moves the clock in steps, and runs what waits for microtasks after each of them. */
  async pass(ms: number, step = 10): Promise<void> {
    for (let passed = 0; passed < ms; passed += step) {
      this.advance(step);
      await flushMicrotasks();
    }
  }

  /** Moves the clock first and fires the timers that are due afterwards, as when the event loop was blocked. */
  block(ms: number): void {
    this.#now += ms;
    this.advance(0);
  }

  restore(): void {
    Object.assign(globalThis, { setTimeout: this.#real.setTimeout, clearTimeout: this.#real.clearTimeout });
    performance.now = this.#real.now;
    Date.now = this.#real.wall;
  }
}

/** A fake clock that goes on by itself, 5 ms in each turn of the event loop, for tests that wait for conditions. */
export class RunningTime extends FakeTime {
  readonly #stop: () => void;

  constructor() {
    const { setTimeout: start, clearTimeout: stop } = globalThis;
    super();
    const turn = () => {
      this.advance(5);
      timer = start(turn, 0);
    };
    let timer = start(turn, 0);
    this.#stop = () => stop(timer);
  }

  override restore(): void {
    this.#stop();
    super.restore();
  }
}

/** Calls `fn` with a clock that goes on by itself: what it waits for comes, however busy the machine is. */
export async function withRunningTime(fn: () => Promise<void>): Promise<void> {
  const time = new RunningTime();
  try {
    await fn();
  } finally {
    time.restore();
  }
}

/** Calls `fn` with a fake clock, and asserts that it leaves no timer. */
export async function withFakeTime(fn: (time: FakeTime) => Promise<void>): Promise<void> {
  const time = new FakeTime();
  try {
    await fn(time);
    assert.equal(time.timers, 0, "timers left");
  } finally {
    time.restore();
  }
}

/** Wrong values for `signal` and `timeout`, and the error that each has to give. */
export const badWaitOptions: readonly (readonly [unknown, typeof TypeError | typeof RangeError, RegExp])[] = [
  [null, TypeError, /options .*null/],
  [5, TypeError, /options .*5/],
  ["soon", TypeError, /options .*"soon"/],
  [
    new AbortController().signal,
    TypeError,
    /options must not be a signal: pass { signal }, got .*AbortSignal/,
  ],
  [{ timeout: NaN }, RangeError, /timeout .*NaN/],
  [{ timeout: -1 }, RangeError, /timeout .*-1/],
  [{ timeout: -Infinity }, RangeError, /timeout .*-Infinity/],
  [{ timeout: "5" }, TypeError, /timeout .*"5"/],
  [{ timeout: null }, TypeError, /timeout .*null/],
  [{ timeout: 5n }, TypeError, /timeout .*5n/],
  [{ signal: null }, TypeError, /signal .*null/],
  [{ signal: {} }, TypeError, /signal .*object/],
  [{ signal: new AbortController() }, TypeError, /signal .*AbortController/],
  [{ signal: { aborted: false, addEventListener() {} } }, TypeError, /signal .*object/],
];

/** Asserts that every wrong option gives its error, as a rejection, also when the signal is aborted. */
export async function refusesBadOptions(call: (options: never) => Promise<unknown>): Promise<void> {
  for (const [options, type, message] of badWaitOptions) {
    const promise = call(options as never); // must not throw
    await assert.rejects(promise, (error: Error) => {
      assert.equal(error.constructor, type);
      assert.match(error.message, message);
      return true;
    });
  }
  const aborted = AbortSignal.abort();
  await assert.rejects(call({ signal: aborted, timeout: NaN } as never), RangeError);
}
