/**
 * One timer for any number of deadlines, on the clock that is in force. Only `cancellation.ts` uses the registry, and no
 * other module of the library sets a timer.
 *
 * Test frameworks replace `setTimeout`, with or without `performance.now`, and put the real one back while calls still
 * wait. So every registry belongs to one clock: calls made under another clock never join it, and its timer is set and
 * cleared by its own clock only.
 *
 * @module
 */
import { timersEndWithRequest } from "./platform.ts";

/** The longest delay that setTimeout can count; a longer one would fire at once. */
const LONGEST_DELAY = 2 ** 31 - 1;
/** Milliseconds by which no real timer fires early. A timer that does belongs to a clock that cannot be read. */
const SLACK = 2;
/** More than the error of a sum of times in ms: 100 ms from now must not be counted as 101. */
export const ROUNDING = 1e-6;
/** How often a clock is read, at most, until it moves: 1 to 3 ms. */
const MOST_READS = 50_000;
/** How often the timer is set to the exact deadline of an earlier newcomer before it is set to the half of that time. */
const EXACT_MOVES = 8;
/** How many children an entry of the heap has: with four instead of two, the heap is half as high. */
const CHILDREN = 4;
/** How many more entries than pending ones the heap may hold. */
const SPARE = 32;

/** The clock of a time-out. */
export interface Clock {
  /** Forgets a time-out that has ended. */
  delete(): void;
  /** Whether it is the clock that calls are made under now; a clock without this always is. */
  isInForce?(): boolean;
}

/** Something that ends at a deadline. Its registry sets the deadline and the order. */
export interface Timed {
  /** On the monotonic clock, in ms. */
  deadline: number;
  /** The order among equal deadlines. */
  order: number;
  /** Its clock; undefined once it has ended. */
  clock: Clock | undefined;
}

type OnDue = (due: readonly Timed[]) => void;

/** Fake timers carry this mark in sinon, Vitest and Jest. Bun replaces nothing else that could be seen. */
function areMarkedFake(): boolean {
  return "clock" in setTimeout;
}

/** Whether `performance.now` shows the time of the timers that are set now. */
export function isClockReadable(): boolean {
  return areTimersReal() ? !isCoarse() : performance.now !== firstNow;
}

/** Whether timers may fire at any moment, as those of tests do, also in the turn of the event loop that has set them. */
export function isClockReplaced(): boolean {
  return !areTimersReal() || performance.now !== firstNow;
}

function areTimersReal(): boolean {
  return setTimeout === firstSetTimeout && !areMarkedFake();
}

/** The function that was judged last, and whether it is too coarse to time a call. */
let judged: { readonly now: () => number; readonly isCoarse: boolean } | undefined;

/** Browsers that resist fingerprinting have coarse clocks, by which a time-out may seem over too early. */
function isCoarse(): boolean {
  const { now } = performance;
  if (judged?.now === now) return judged.isCoarse;
  const start = performance.now();
  let passed = 0;
  for (let reads = 0; passed === 0 && reads < MOST_READS; reads++) passed = performance.now() - start;
  judged = { now, isCoarse: passed === 0 || passed >= SLACK };
  return judged.isCoarse;
}

// When this module was loaded.
const firstSetTimeout = globalThis.setTimeout;
const firstNow = /* @__PURE__ */ (() => performance.now)();

/** The registries for calls that are made now: of time-outs that keep the process alive (1), and of the others (0). */
const latest: (TimerRegistry | undefined)[] = [];

/** The deadlines that share one timer. */
export class TimerRegistry implements Clock {
  // #heap is ordered by deadline, then by order; it holds the #pending ones and others that have ended since.
  // #pending > 0 implies that the timer is set, for the earliest deadline or sooner.
  #heap: Timed[] = [];
  #pending = 0;
  #joined = 0;
  /** How often the timer was moved since it last fired. */
  #moves = 0;
  #timer: unknown;
  /** When the timer is due; Infinity while none is set. */
  #dueAt = Infinity;
  /** The latest time that a timer has shown on a clock that cannot be read. */
  #latest = -Infinity;
  readonly #keepsAlive: boolean;
  readonly #onDue: OnDue;
  // The clock that was in force when the registry was made. Called without an object: browsers insist on it.
  readonly #setTimeout = globalThis.setTimeout;
  readonly #clearTimeout = globalThis.clearTimeout;
  readonly #performance = performance;
  readonly #now = performance.now;
  readonly #isMarkedFake = areMarkedFake();
  /** Whether its times can be read between its timers, so that deadlines of several calls can be compared. */
  readonly #isReadable = isClockReadable();

  constructor(keepsAlive: boolean, onDue: OnDue) {
    this.#keepsAlive = keepsAlive;
    this.#onDue = onDue;
  }

  /** The registry for a call that is made now. On a clock that cannot be read, each call has its own, and on Workers. */
  static inForce(keepsAlive: boolean, onDue: OnDue): TimerRegistry {
    if (timersEndWithRequest) return new TimerRegistry(keepsAlive, onDue);
    const registry = latest[+keepsAlive];
    if (registry?.isInForce() && registry.#isReadable) return registry;
    return latest[+keepsAlive] = new TimerRegistry(keepsAlive, onDue);
  }

  isInForce(): boolean {
    return setTimeout === this.#setTimeout && performance.now === this.#now && areMarkedFake() === this.#isMarkedFake;
  }

  #time(): number {
    return Math.max(this.#now.call(this.#performance), this.#latest);
  }

  /** Ends it after `timeout` ms. */
  add(timed: Timed, timeout: number): void {
    const now = this.#time();
    // A timer counts whole milliseconds; rounding up is never early.
    const end = now + Math.ceil(timeout);
    timed.clock = this;
    timed.deadline = end;
    timed.order = this.#joined++;
    this.#pending++;
    this.#push(timed);
    if (end >= this.#dueAt) return;
    // Setting a timer is slow. Each newcomer may be a little earlier than the one before: leave room for more of them.
    this.#start(++this.#moves > EXACT_MOVES ? (now + end) / 2 : end, now);
  }

  /** Forgets one that has ended. Its entry stays in the heap until such entries outnumber the others. */
  delete(): void {
    if (--this.#pending === 0) {
      this.#stop();
      this.#heap = [];
      this.#joined = 0;
    } else if (this.#heap.length > 2 * this.#pending + SPARE) this.#sweep();
  }

  #sweep(): void {
    const entries = this.#heap;
    this.#heap = [];
    for (const entry of entries) if (entry.clock === this) this.#push(entry);
  }

  #start(deadline: number, now: number): void {
    this.#stop();
    const delay = Math.min(Math.max(0, Math.ceil(deadline - now - ROUNDING)), LONGEST_DELAY);
    this.#dueAt = now + delay;
    const start = this.#setTimeout;
    const timer: unknown = this.#timer = start(() => this.#fire(), delay);
    // Browsers have numbers here.
    if (!this.#keepsAlive) (timer as { unref?: () => void }).unref?.();
  }

  #stop(): void {
    // A clock that is gone may fail to clear its timers.
    if (this.#timer !== undefined && (this.#setTimeout === firstSetTimeout || this.isInForce())) {
      const stop = this.#clearTimeout;
      stop(this.#timer as number);
    }
    this.#timer = undefined;
    this.#dueAt = Infinity;
  }

  #fire(): void {
    // On a clock that cannot be read, the time is the one that the timer was set for.
    if (!this.#isReadable || this.#dueAt - this.#time() >= SLACK) this.#latest = this.#dueAt;
    this.#timer = undefined;
    this.#dueAt = Infinity;
    this.#moves = 0;
    this.#onDue(this.#take(this.#time()));
    const next = this.#heap[0];
    if (next !== undefined && next.deadline < this.#dueAt) this.#start(next.deadline, this.#time());
  }

  /** Takes out what is due at `time`, in order. The timer may be early by {@linkcode ROUNDING}: then it is due, too. */
  #take(time: number): Timed[] {
    const due: Timed[] = [];
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      const isPending = first.clock === this;
      if (isPending && first.deadline - ROUNDING > time) break;
      this.#shift();
      if (isPending) due.push(first);
    }
    return due;
  }

  #push(timed: Timed): void {
    const heap = this.#heap;
    let index = heap.length;
    while (index > 0) {
      const parent = Math.floor((index - 1) / CHILDREN);
      if (!isBefore(timed, heap[parent]!)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = timed;
  }

  /** Removes the first entry: the last one takes its place and sinks to where it belongs. */
  #shift(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let index = 0;
    for (;;) {
      const child = CHILDREN * index + 1;
      let first = child;
      for (let other = child + 1; other < child + CHILDREN && other < heap.length; other++) {
        if (isBefore(heap[other]!, heap[first]!)) first = other;
      }
      if (first >= heap.length || !isBefore(heap[first]!, last)) break;
      heap[index] = heap[first]!;
      index = first;
    }
    heap[index] = last;
  }
}

function isBefore(a: Timed, b: Timed): boolean {
  return a.deadline < b.deadline || (a.deadline === b.deadline && a.order < b.order);
}
