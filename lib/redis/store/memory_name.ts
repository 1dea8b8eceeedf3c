/**
 * The holders and the queue of one name, in memory: the state machine of `scripts/state_machine.ts`, without the
 * failures of a network. No waiter can die apart from its store, no answer is lost, and a timer ends leases, so that
 * waiters need not ask. Invariants: each holder was let in by its own limit, and a grant prolongs no life; the head is
 * granted before any waiter behind it; every grant has a larger token than all before.
 *
 * Times are local, in milliseconds on the monotonic clock.
 *
 * @module
 */
import { exposeState } from "../../internal/state.ts";
import { Timer } from "../../internal/timer.ts";
import { callerOf, type Inspection, type Waiter } from "../inspect.ts";
import { IDLE_KEPT, notBefore, now } from "../times.ts";
import type { AcquireAnswer, AcquireRequest, Prior, Renewal, Renewed } from "./store.ts";

/** Upper bound of fences in µs (the year 2112), so that fences stay safe integers even with a fake clock. */
const LATEST_DATE = 2 ** 52;

/** The last fence of all names: a name that was dropped begins anew, and must not repeat its fences. */
let lastFence = 0;

/** A waiter or a holder. */
interface Caller {
  readonly request: AcquireRequest;
  /** Epoch milliseconds. */
  readonly since: number;
  /** One ttl after its last request. */
  ends: number;
}

interface Hold extends Caller {
  readonly weight: number;
  readonly fence: number;
}

export class MemoryName {
  readonly #holders = new Map<string, Hold>();
  /** In the order of arrival. */
  readonly #queue = new Map<string, Caller>();
  #used = 0;
  /** The limit of the last grant. */
  #limit = 0;
  /** Set to the first end of a lease while there are waiters. */
  readonly #timer = new Timer((endsAt) => this.#expire(notBefore(endsAt)));
  #fence = 0;
  /** The time until which it is kept without holders. */
  #keptUntil = 0;

  static {
    exposeState(MemoryName, (name) => [name.#holders, name.#queue, name.#used, name.#timer]);
  }

  /** Whether it is unused and its time to be kept is over. Asked before each request, it ends what is over by then. */
  get isOver(): boolean {
    this.#expire();
    return this.#used === 0 && this.#queue.size === 0 && now() >= this.#keptUntil;
  }

  acquire(request: AcquireRequest): AcquireAnswer {
    const { id, spec: { settings: { ttl }, limit }, waits } = request;
    const ends = now() + ttl;
    const held = this.#holders.get(id);
    if (held !== undefined) {
      held.ends = ends;
      return { kind: "granted", fence: held.fence };
    }
    const differingLimit = this.#limit !== limit && this.#used > 0 ? this.#limit : 0;
    const waiting = this.#queue.get(id) ?? { request, since: Date.now(), ends };
    waiting.ends = ends;
    this.#queue.set(id, waiting);
    this.#serve(id);
    const granted = this.#holders.get(id);
    if (granted !== undefined) return { kind: "granted", fence: granted.fence, differingLimit };
    if (waits) return this.#notGranted(true, differingLimit);
    this.#queue.delete(id);
    this.#serve(); // also checks whether the timer is still needed
    return this.#notGranted(false, differingLimit);
  }

  /** Continues the hold under the id of the request; a `spec.weight` of 0 accepts any weight. */
  adopt(request: AcquireRequest): AcquireAnswer {
    const { id, adopts = "", spec } = request;
    const hold = this.#holders.get(adopts) ?? this.#holders.get(id);
    if (hold === undefined || (spec.weight !== 0 && spec.weight !== hold.weight)) return this.#notGranted(false, 0);
    const ends = Math.max(hold.ends, now() + spec.settings.ttl);
    this.#holders.delete(hold.request.id);
    this.#holders.set(id, { ...hold, request, ends });
    return { kind: "granted", fence: hold.fence, weight: hold.weight };
  }

  release(id: string): Prior {
    const was: Prior = this.#drop(id) ? "held" : this.#queue.delete(id) ? "waiting" : "unknown";
    if (was !== "unknown") this.#serve();
    return was;
  }

  /** Returns whether there was a holder. */
  releaseAll(): boolean {
    const ids = [...this.#holders.keys()];
    for (const id of ids) this.#drop(id);
    this.#serve();
    return ids.length > 0;
  }

  /** Sets the end of a hold. No request is late, as each runs at once. */
  renew({ id, ttl }: Renewal): Renewed {
    const hold = this.#holders.get(id);
    if (hold === undefined) return "lost";
    hold.ends = now() + ttl;
    this.#serve();
    return "set";
  }

  /** The milliseconds left of a hold; 0 or less if there is none. */
  timeLeftOf(id: string): number {
    return (this.#holders.get(id)?.ends ?? 0) - now();
  }

  inspect(): Inspection {
    const holds = [...this.#holders.values()];
    const holders = holds.map((hold) => ({ ...waiterOf(hold), fencingToken: hold.fence, permits: hold.weight }));
    const waiters = [...this.#queue.values()].slice(0, 1000).map(waiterOf);
    const keptUntil = holds.reduce((until, { ends }) => Math.max(until, ends + IDLE_KEPT), this.#keptUntil);
    return { holders, waiters, waiting: this.#queue.size, fence: this.#fence, ttl: Math.max(0, keptUntil - now()) };
  }

  /** The queue keeps its own order, so each position has the same number. */
  #notGranted(isQueued: boolean, differingLimit: number): AcquireAnswer {
    return { kind: "waiting", position: Number(isQueued), fence: this.#fence, endsIn: Infinity, differingLimit };
  }

  /** Grants from the head while it fits, and notifies all granted waiters except the asker, which gets an answer. */
  #serve(asker?: string): void {
    for (const { request, ends } of this.#queue.values()) {
      const { id, spec: { weight, limit } } = request;
      if (this.#used + weight > limit) break; // granting smaller requests first would starve this one
      this.#queue.delete(id);
      const fence = this.#fence = lastFence = Math.max(lastFence + 1, Math.min(Date.now() * 1000, LATEST_DATE));
      this.#holders.set(id, { request, weight, fence, ends, since: Date.now() });
      this.#used += weight;
      this.#limit = limit;
      // Not by `queueMicrotask`, which fake clocks replace.
      if (id !== asker) void Promise.resolve().then(() => request.granted(fence));
    }
    const endsAt = this.#firstEnd();
    if (endsAt !== this.#timer.at) this.#timer.set(endsAt);
  }

  /** When the first lease ends for which a waiter waits; Infinity while there is no waiter. */
  #firstEnd(): number {
    if (this.#queue.size === 0) return Infinity;
    return [...this.#holders.values()].reduce((first, { ends }) => Math.min(first, ends), Infinity);
  }

  /** Ends the holds that are over, and serves the queue. */
  #expire(time = now()): void {
    for (const [id, { ends }] of this.#holders) {
      if (ends <= time) this.#drop(id);
    }
    this.#serve();
  }

  /** Ends a hold. Returns whether there was one. */
  #drop(id: string): boolean {
    const hold = this.#holders.get(id);
    if (hold === undefined) return false;
    this.#holders.delete(id);
    this.#used -= hold.weight;
    this.#keptUntil = Math.min(hold.ends, now()) + IDLE_KEPT;
    return true;
  }
}

/** The part of a holder or waiter that `inspect()` shows of both. */
function waiterOf({ request: { id, spec: { settings: { owner = "" } } }, since, ends }: Caller): Waiter {
  return callerOf(id, owner, since, ends - now());
}
