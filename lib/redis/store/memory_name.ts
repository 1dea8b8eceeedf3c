/**
 * The holders and the queue of one name, in memory: the state machine of `scripts/state_machine.ts`, without what only
 * distance brings. No call can die apart from its store here, so waiters need no sign of life, no answer is lost, and a
 * timer ends leases, so that no waiter has to ask for it. Invariants: the weights of the holders never exceed the limit;
 * the head is granted before any waiter behind it; every grant has a larger token than all before.
 *
 * Times are local, in milliseconds on the monotonic clock.
 *
 * @module
 */
import { LocalTimer } from "../clock.ts";
import type { Holder, Inspection, Waiter } from "../inspect.ts";
import type { Settings } from "../options.ts";
import { IDLE_KEPT, livenessOf, now } from "../times.ts";
import { PROCESS_LENGTH } from "../scripts/script.ts";
import { limitError } from "./replies.ts";
import { type AcquireAnswer, type AcquireRequest, NotifyMode, type Push, type Renewal, type Was } from "./store.ts";

/** The part of its store that a name uses. */
export interface MemoryServer {
  nextFence(): number;
  /** Server time in microseconds. */
  time(): number;
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

export class MemoryName {
  readonly #server: MemoryServer;
  readonly #holders = new Map<string, Hold>();
  /** In the order of arrival. */
  readonly #queue = new Map<string, Waiting>();
  #limit = 1;
  #used = 0;
  /** No lease ends before this. */
  #firstEnd = Infinity;
  /** Set to that while there are waiters. */
  readonly #timer = new LocalTimer((time) => this.#expire(time));
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
    if (mode !== NotifyMode.none) return this.#waits(waiting.place);
    this.#queue.delete(id);
    this.#serve(); // which looks whether the timer is still needed
    return this.#waits(0);
  }

  /** The hold goes on under the id of the request; `spec.weight` is 0 where it may have any. */
  adopt({ id, adopts = "", spec: { settings, weight } }: AcquireRequest): AcquireAnswer {
    this.#expire();
    const hold = this.#holders.get(adopts) ?? this.#holders.get(id);
    if (hold === undefined || (weight !== 0 && weight !== hold.weight)) {
      return this.#waits(0);
    }
    const rest = Math.max(hold.ends - now(), settings.ttl);
    this.#holders.delete(hold.id);
    this.#holders.set(id, { ...hold, id, settings, ends: now() + rest });
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
    for (const id of ids) this.#drop(id);
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
    this.#serve();
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
    for (const { ends } of holds) keptUntil = Math.max(keptUntil, ends + IDLE_KEPT);
    const ttl = Math.max(0, keptUntil - now());
    return { holders, waiters, waiting: this.#queue.size, fence: this.#fence, ttl };
  }

  /** @param place 0 for a caller that has none. */
  #waits(place: number): AcquireAnswer {
    const serverTime = this.#server.time();
    return { kind: "waiting", serverTime, place, fence: this.#fence, askAt: 0, deaf: false, more: false };
  }

  /** Grants from the head while it fits; notifies all but the asker, which gets an answer. */
  #serve(asker?: string): void {
    for (const { id, weight, settings } of this.#queue.values()) {
      if (this.#used + weight > this.#limit) break; // letting small ones pass would starve this one
      this.#queue.delete(id);
      const fence = this.#fence = this.#server.nextFence();
      const hold = { id, fence, weight, settings, since: Date.now(), ends: now() + settings.ttl };
      this.#holders.set(id, hold);
      this.#used += weight;
      this.#firstEnd = Math.min(this.#firstEnd, hold.ends);
      if (id !== asker) void this.#server.push({ kind: "granted", id, fence, serverTime: this.#server.time() });
    }
    this.#timer.set(this.#queue.size === 0 ? Infinity : this.#firstEnd);
  }

  #expire(time = now()): void {
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
    this.#keptUntil = Math.min(hold.ends, now()) + IDLE_KEPT;
    if (this.#holders.size === 0) this.#firstEnd = Infinity;
    return true;
  }
}

function callerOf(call: { id: string; settings: Settings; since: number }, expiresIn: number): Waiter {
  const { id, settings: { owner }, since } = call;
  return { id, process: id.slice(0, PROCESS_LENGTH), ...owner !== undefined && { owner }, since, expiresIn };
}
