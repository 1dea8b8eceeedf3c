/**
 * Pools that are attached. A pool is known by its members, because there may be two copies of the module, and because
 * an import would be part of every bundle.
 *
 * @module
 */
import { onCancel } from "../internal/cancellation.ts";
import { InFlight } from "./in_flight.ts";
import type { ShutdownState } from "./shutdown_state.ts";

/** The part of a {@linkcode Pool} that is used. */
export interface PoolLike {
  /** Its label in reports. */
  readonly name: string | undefined;
  /** The number of functions that run. */
  readonly active: number;
  /** The number of calls that are queued. */
  readonly waiting: number;
  /** Rejects new calls. */
  close(): void;
  /** Rejects queued calls and aborts running functions. */
  cancel(reason?: unknown): void;
  /** Resolves when nothing runs, is queued or is read; throws unobserved failures. */
  join(): Promise<void>;
}

/** Whether `value` is a Pool, of any copy of the module. */
export function isPool(value: unknown): value is PoolLike {
  const pool = Object(value) as Record<string, unknown>;
  return ["createTask", "map", "close", "cancel", "join"].every((name) => typeof pool[name] === "function");
}

/** The calls of one pool. It is in the list of work while it is attached, and counts while it has calls. */
export class PoolWork extends InFlight {
  readonly label: string;
  readonly pool: PoolLike;
  readonly #state: ShutdownState;
  /** Whether it is closed and not joined. A map may wait for its reader then, without a call. */
  #isEnding = false;

  constructor(state: ShutdownState, pool: PoolLike) {
    super();
    this.#state = state;
    this.pool = pool;
    this.label = pool.name ?? "pool";
  }

  override get count(): number {
    const { active, waiting } = this.pool;
    return Math.max(active + waiting, this.#isEnding ? 1 : 0);
  }

  /** Closes the pool. Its unobserved failures are errors of the report. */
  override onShutdown(): void {
    const { pool } = this;
    const { forced, inFlight } = this.#state;
    pool.close();
    const cancel = () => this.isListed && pool.cancel(forced.reason);
    if (forced.aborted) cancel();
    const registration = onCancel({ signal: forced }, cancel);
    this.#isEnding = true;
    void this.#state.attemptLater(() => pool.join()).then(() => {
      registration.end();
      this.#isEnding = false;
      inFlight.delete(this);
    });
  }
}

/** Adds a pool, once. One that comes after the signal is closed at once. */
export function attachPool(state: ShutdownState, pool: PoolLike): void {
  if (!state.counts) return pool.close();
  if (find(state, pool) !== undefined) return;
  const work = new PoolWork(state, pool);
  state.inFlight.add(work);
  if (state.phase !== "serving") work.onShutdown();
}

/** Forgets a pool. */
export function detachPool(state: ShutdownState, pool: PoolLike): void {
  const work = find(state, pool);
  if (work !== undefined) state.inFlight.delete(work);
}

function find({ inFlight }: ShutdownState, pool: PoolLike): PoolWork | undefined {
  for (const entry of inFlight) if (entry instanceof PoolWork && entry.pool === pool) return entry;
  return undefined;
}
