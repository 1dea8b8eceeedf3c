/**
 * The store in this process: names in a Map. Every request runs at once, in the caller's turn; its answer and the messages
 * that it causes come in later microtasks, as they do from a server. Invariant: a name that is over is never used again,
 * and those that are over are at most half of all, or 100.
 *
 * @module
 */
import type { Inspection } from "../inspect.ts";
import { MemoryRate } from "./memory_rate.ts";
import { MemoryName, type MemoryServer } from "./memory_name.ts";
import { Ids } from "./ids.ts";
import type { StartAnswer, StartRequest, StoredRate, Turn } from "./rate.ts";
import { ServerClock } from "./server_clock.ts";
import type {
  AcquireAnswer,
  AcquireRequest,
  Push,
  PushListener,
  RenewRequest,
  Store,
  StoredName,
  Unsubscribe,
  Was,
} from "./store.ts";

export class MemoryStore implements Store {
  readonly closed = false;
  readonly losses: undefined;
  readonly cluster = false;
  readonly linger = 0;
  readonly holdListensAfter = 0;
  readonly wait: undefined;
  readonly #ids = new Ids();
  readonly #clock = new ServerClock();
  readonly #names = new Map<string, MemoryName>();
  /** The number of names at which those that are over are dropped. */
  #sweepAt = 100;
  readonly #rates = new Map<string, MemoryRate>();
  readonly #listeners = new Set<PushListener>();
  #fence = 0;

  constructor() {
    this.#clock.saw(Date.now() * 1000);
  }

  newId(): string {
    return this.#ids.next();
  }

  clockOf(): ServerClock {
    return this.#clock;
  }

  isReady(): boolean {
    return true;
  }

  async ready(): Promise<void> {}

  // deno-lint-ignore require-await
  async acquire(request: AcquireRequest): Promise<AcquireAnswer> {
    return this.#use(
      request.spec,
      (name) => request.adopts === undefined ? name.acquire(request) : name.adopt(request),
    );
  }

  // deno-lint-ignore require-await
  async release(spec: StoredName, id: string): Promise<Was> {
    return this.#use(spec, (name) => name.release(id));
  }

  // deno-lint-ignore require-await
  async releaseAll(spec: StoredName): Promise<boolean> {
    return this.#use(spec, (name) => name.releaseAll());
  }

  // deno-lint-ignore require-await
  async renew({ holds, exact }: RenewRequest): Promise<boolean[]> {
    return holds.map((hold) => this.#use(hold.spec, (name) => name.renew(hold, exact)));
  }

  // deno-lint-ignore require-await
  async verify(spec: StoredName, id: string): Promise<number> {
    return this.#use(spec, (name) => name.restOf(id));
  }

  // deno-lint-ignore require-await
  async inspect(spec: StoredName): Promise<Inspection> {
    return this.#use(spec, (name) => name.inspect());
  }

  // deno-lint-ignore require-await
  async start(request: StartRequest): Promise<StartAnswer> {
    const { rate } = request;
    const [key] = rate.keys;
    for (const [other, { isIdle }] of this.#rates) {
      if (isIdle) this.#rates.delete(other);
      else break;
    }
    const kept = this.#rates.get(key);
    const found = kept === undefined || kept.isIdle ? new MemoryRate(rate) : kept;
    const answer = found.start(request);
    this.#rates.delete(key); // to the end: those that are idle for the longest come first
    if (!found.isIdle) this.#rates.set(key, found);
    return answer;
  }

  // deno-lint-ignore require-await
  async giveBack(rate: StoredRate, _permits: number, turn: Turn): Promise<void> {
    this.#rates.get(rate.keys[0])?.giveBack(turn);
  }

  readonly subscribe = (listener: PushListener): Promise<Unsubscribe> => {
    this.#listeners.add(listener);
    return Promise.resolve(() => void this.#listeners.delete(listener));
  };

  /** It never fails: an error of a request is one of the caller. */
  mayPass(): boolean {
    return false;
  }

  silence(): undefined {}

  warnSlow(): void {}

  onClose(): void {}

  offClose(): void {}

  /** Runs a request about a name. */
  #use<T>({ keys: [key] }: StoredName, request: (name: MemoryName) => T): T {
    const kept = this.#names.get(key);
    if (kept !== undefined && !kept.isOver) return request(kept);
    if (this.#names.size >= this.#sweepAt) this.#sweep();
    const name = new MemoryName(this.#server());
    this.#names.set(key, name);
    return request(name);
  }

  #sweep(): void {
    for (const [key, { isOver }] of this.#names) {
      if (isOver) this.#names.delete(key);
    }
    this.#sweepAt = Math.max(100, this.#names.size * 2);
  }

  #server(): MemoryServer {
    return {
      nextFence: () => this.#fence = Math.max(this.#fence + 1, Date.now() * 1000),
      timeAt: (local) => this.#clock.at(local),
      push: (push) => void this.#push(push),
    };
  }

  async #push(push: Push): Promise<void> {
    await undefined; // not by queueMicrotask, which clocks of tests replace
    for (const listener of this.#listeners) listener.receive(push);
  }
}
