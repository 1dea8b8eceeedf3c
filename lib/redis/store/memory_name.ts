/**
 * The holders and the queue of one name, in memory: the state machine of `scripts/state_machine.ts`, without what only
 * distance brings. No call can die apart from its store here, so waiters need no sign of life, and no answer is lost.
 * Invariants: the weights of the holders never exceed the limit; the head is granted before any waiter behind it; every
 * grant has a larger token than all before.
 *
 * Times are local, in milliseconds on the monotonic clock.
 *
 * @module
 */
import type { Holder, Inspection, Waiter } from "../inspect.ts";
import type { Settings } from "../options.ts";
import { livenessOf, now } from "../times.ts";
import { PROCESS_LENGTH } from "../scripts/script.ts";
import { limitError } from "./replies.ts";
import { type AcquireAnswer, type AcquireRequest, NotifyMode, type Push, type Renewal, type Was } from "./store.ts";

/** The part of its store that a name uses. */
export interface MemoryServer {
  nextFence(): number;
  /** Server time in microseconds at a local moment. */
  timeAt(local: number): number;
  push(push: Push): Promise<void>;
}

interface Hold {
  readonly id: string;
  readonly fence: number;
  readonly weight: number;
  readonly settings: Settings;
  /** Epoch milliseconds. */
  readonly since: number;
  ends: number;
}

interface Waiting {
  readonly id: string;
  readonly place: number;
  readonly weight: number;
  readonly settings: Settings;
  readonly since: number;
  askedAt: number;
}

/** Waiters that are to ask when a lease ends, and the milliseconds from one to the next: as few as in Redis. */
const ASKING = 3;
const ASKING_APART = 50;

export class MemoryName {
  readonly #server: MemoryServer;
  readonly #holders = new Map<string, Hold>();
  /** In the order of arrival. */
  readonly #queue = new Map<string, Waiting>();
  #limit = 1;
  #used = 0;
  /** No lease ends before this. */
  #firstEnd = Infinity;
  #fence = 0;
  #places = 0;
  /** Until then it is kept without holders. */
  #keptUntil = 0;

  constructor(server: MemoryServer) {
    this.#server = server;
  }

  /** Whether nothing uses it, and its retention is over. */
  get isOver(): boolean {
    this.#expire();
    return this.#used === 0 && this.#queue.size === 0 && now() >= this.#keptUntil;
  }

  acquire({ id, spec, mode }: AcquireRequest): AcquireAnswer {
    this.#expire();
    const { settings, weight, limit } = spec;
    const held = this.#holders.get(id);
    if (held !== undefined) {
      held.ends = Math.max(held.ends, now() + settings.ttl); // a late request must not shorten what extend() has set
      return { kind: "granted", fence: held.fence };
    }
    if (this.#used === 0 && this.#queue.size === 0) this.#limit = limit;
    if (limit !== this.#limit) throw limitError(spec, this.#limit);
    const waiting = this.#queue.get(id) ??
      { id, place: ++this.#places, weight, settings, since: Date.now(), askedAt: 0 };
    waiting.askedAt = now();
    this.#queue.set(id, waiting);
    this.#serve(id);
    const granted = this.#holders.get(id);
    if (granted !== undefined) return { kind: "granted", fence: granted.fence };
    if (mode === NotifyMode.none) this.#queue.delete(id);
    return this.#waits(waiting, mode === NotifyMode.none ? 0 : waiting.place);
  }

  /** The hold goes on under the id of the request; `spec.weight` is 0 where it may have any. */
  adopt({ id, adopts = "", spec: { settings, weight } }: AcquireRequest): AcquireAnswer {
    this.#expire();
    const hold = this.#holders.get(adopts) ?? this.#holders.get(id);
    if (hold === undefined || (weight !== 0 && weight !== hold.weight)) {
      return { kind: "waiting", serverTime: this.#time(), place: 0, fence: 0, askAt: 0, deaf: false, more: false };
    }
    const rest = Math.max(hold.ends - now(), settings.ttl);
    this.#holders.delete(hold.id);
    this.#holders.set(id, { ...hold, id, settings, ends: now() + rest });
    void this.#server.push({ kind: "revoked", id: hold.id });
    return { kind: "granted", fence: hold.fence, weight: hold.weight, rest };
  }

  release(id: string): Was {
    this.#expire();
    const was: Was = this.#drop(id) ? "held" : this.#queue.delete(id) ? "waiting" : "unknown";
    if (was !== "unknown") this.#serve();
    return was;
  }

  /** Returns whether there was a holder. */
  releaseAll(): boolean {
    this.#expire();
    const ids = [...this.#holders.keys()];
    for (const id of ids) {
      this.#drop(id);
      void this.#server.push({ kind: "revoked", id });
    }
    this.#serve();
    return ids.length > 0;
  }

  /** Returns whether the hold is known. */
  renew({ id, ttl }: Renewal, exact: boolean): boolean {
    this.#expire();
    const hold = this.#holders.get(id);
    if (hold === undefined) return false;
    const ends = now() + ttl;
    hold.ends = exact ? ends : Math.max(hold.ends, ends);
    this.#firstEnd = Math.min(this.#firstEnd, hold.ends);
    if (exact) this.#announce();
    return true;
  }

  /** The milliseconds that are left of a hold; 0 if there is none. */
  restOf(id: string): number {
    const hold = this.#holders.get(id);
    return hold === undefined ? 0 : hold.ends - now();
  }

  inspect(): Inspection {
    this.#expire();
    const holds = [...this.#holders.values()];
    const holders = holds.map(({ fence, weight, ends, ...call }): Holder => ({
      ...callerOf(call, ends - now()),
      fencingToken: fence,
      permits: weight,
    }));
    const waiters = [...this.#queue.values()].slice(0, 1000).map(({ askedAt, ...call }): Waiter =>
      callerOf(call, askedAt + livenessOf(call.settings.ttl) - now())
    );
    let keptUntil = this.#keptUntil;
    for (const { ends, settings } of holds) keptUntil = Math.max(keptUntil, ends + settings.retention);
    const ttl = Math.max(0, keptUntil - now());
    return { holders, waiters, waiting: this.#queue.size, fence: this.#fence, ttl };
  }

  #time(): number {
    return this.#server.timeAt(now());
  }

  #waits({ id }: Waiting, place: number): AcquireAnswer {
    const rank = this.#firstWaiters().findIndex((waiter) => waiter.id === id);
    const askAt = rank < 0 || place === 0 ? 0 : this.#server.timeAt(this.#firstEnd + rank * ASKING_APART);
    return { kind: "waiting", serverTime: this.#time(), place, fence: this.#fence, askAt, deaf: false, more: false };
  }

  #firstWaiters(): Waiting[] {
    const first: Waiting[] = [];
    for (const waiter of this.#queue.values()) {
      if (first.push(waiter) === ASKING) break;
    }
    return first;
  }

  /** Grants from the head while it fits. */
  #serve(asker?: string): void {
    let changed = asker === undefined;
    for (const { id, weight, settings } of this.#queue.values()) {
      if (this.#used + weight > this.#limit) break; // letting small ones pass would starve this one
      this.#queue.delete(id);
      const fence = this.#fence = this.#server.nextFence();
      const hold = { id, fence, weight, settings, since: Date.now(), ends: now() + settings.ttl };
      this.#holders.set(id, hold);
      this.#used += weight;
      this.#firstEnd = Math.min(this.#firstEnd, hold.ends);
      if (id === asker) continue;
      void this.#server.push({ kind: "granted", id, fence: hold.fence, serverTime: this.#time() });
      changed = true;
    }
    if (changed) this.#announce();
  }

  /** The first waiters ask when a lease ends, should it not be released. */
  #announce(): void {
    if (this.#firstEnd === Infinity) return;
    this.#firstWaiters().forEach(({ id }, rank) => {
      const at = this.#server.timeAt(this.#firstEnd + rank * ASKING_APART);
      void this.#server.push({ kind: "lease ends", id, at, serverTime: this.#time() });
    });
  }

  #expire(): void {
    const time = now();
    if (time < this.#firstEnd) return;
    this.#firstEnd = Infinity;
    for (const { id, ends } of this.#holders.values()) {
      if (ends <= time) this.#drop(id);
      else this.#firstEnd = Math.min(this.#firstEnd, ends);
    }
    this.#serve();
  }

  #drop(id: string): boolean {
    const hold = this.#holders.get(id);
    if (hold === undefined) return false;
    this.#holders.delete(id);
    this.#used -= hold.weight;
    this.#keptUntil = Math.min(hold.ends, now()) + hold.settings.retention;
    if (this.#holders.size === 0) this.#firstEnd = Infinity;
    return true;
  }
}

function callerOf(call: { id: string; settings: Settings; since: number }, expiresIn: number): Waiter {
  const { id, settings: { owner }, since } = call;
  return { id, process: id.slice(0, PROCESS_LENGTH), ...owner !== undefined && { owner }, since, expiresIn };
}
