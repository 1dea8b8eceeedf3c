/**
 * Pools that are attached.
 *
 * @module
 */
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
  /**
   * Rejects queued calls and aborts running functions.
   *
   * @param reason What waiting calls reject with.
   */
  cancel(reason?: unknown): void;
  /** Resolves when nothing runs, is queued or is read; throws unobserved failures. */
  join(): Promise<void>;
}

/** The calls of one pool. It is in the list of work while it is attached, and counts while it has calls. */
class PoolWork extends InFlight {
  readonly #pool: PoolLike;
  readonly #state: ShutdownState;

  constructor(state: ShutdownState, pool: PoolLike) {
    super(pool.name ?? "pool");
    this.#state = state;
    this.#pool = pool;
  }

  /** From the signal on, it counts until it is joined: a map may wait for its reader, without a call. */
  override get count(): number {
    const { active, waiting } = this.#pool;
    return active + waiting || (this.#state.phase === "serving" ? 0 : 1);
  }

  /** Closes the pool. Its unobserved failures are errors of the report. */
  override onShutdown(): void {
    this.#pool.close();
    void this.#state.collectRejection(() => this.#pool.join()).then(() => this.#state.inFlight.delete(this));
  }

  override cut(): void {
    this.#pool.cancel(this.#state.forced.reason);
  }
}

/** Adds a pool; one that comes after the signal is closed at once. Returns a function that forgets it. */
export function attachPool(state: ShutdownState, pool: PoolLike): () => void {
  const work = new PoolWork(state, pool);
  if (state.counts) state.inFlight.add(work);
  else pool.close();
  if (state.counts && state.phase !== "serving") work.onShutdown();
  return () => state.inFlight.delete(work);
}
