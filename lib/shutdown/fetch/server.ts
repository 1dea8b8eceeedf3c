/**
 * Servers of Deno.serve and Bun.serve in GracefulShutdown. The handler counts what is in flight there; both close their
 * idle connections themselves as soon as they stop listening.
 *
 * @module
 */
import type { Abilities } from "./calls.ts";
import { calmTurn } from "../calm_turn.ts";
import { type AttachedServer, LINGER, type ShutdownState } from "../shutdown_state.ts";

/** One attached server. */
export class FetchServer implements AttachedServer {
  readonly #state: ShutdownState;
  readonly #server: Abilities;
  /** Set from stopListening() on. */
  #closed: Promise<void> | undefined;
  /** Lets the answers go that are held back. */
  #release = (): void => {};
  /** Whether connections are open while nothing is in flight. */
  #lingers = false;

  constructor(state: ShutdownState, server: Abilities) {
    this.#state = state;
    this.#server = server;
    state.calls.isAttached = true;
    state.calls.listening++;
  }

  isUncounted(): boolean {
    const { wrapped, arrived } = this.#state.calls;
    return !wrapped || (arrived === 0 && this.#server.isQuiet?.() === false);
  }

  /**
   * Stopping closes every connection that has no request in flight, also those that the next request is on its way on. So
   * answers are held back: within the idle time their clients' requests are in flight, and the server comes to rest.
   */
  async settle(): Promise<void> {
    const { calls, settings: { idle } } = this.#state;
    this.#hold();
    const now = Date.now();
    const since = Math.max(0, now - calls.keptAliveAt); // less than 0: the wall clock was set back
    // It also closes the connection of each answer that is being sent, behind it: those that are short end before.
    const arrived = () => (calls.sweep(), calls.keepsAlive(now - LINGER) ? NaN : calls.arrived);
    await calmTurn(this.#state, arrived, "timer", idle - since);
  }

  stopListening(): void {
    this.#closed = this.#stop();
    this.#closed.catch(() => {}); // close() throws it
  }

  /** The calls of its handler stay counted. */
  detach(): void {
    const { calls } = this.#state;
    if (this.#closed === undefined) calls.listening--;
    this.#release();
  }

  #hold(): void {
    const { calls } = this.#state;
    calls.held ??= new Promise((resolve) => {
      this.#release = () => {
        calls.held = undefined;
        resolve();
      };
    });
  }

  async close(): Promise<void> {
    this.#lingers = true;
    const closed = this.#closed?.finally(() => this.#lingers = false);
    await this.#state.pause(LINGER, closed?.catch(() => {}));
    // The connections that are left have sent no request, or not the whole of one.
    if (this.#lingers && this.#server.isQuiet?.()) await this.#server.stop(true);
    // Deno waits for uploads to the end, also for those that were answered; nothing else is being sent.
    const { unread, untold } = this.#state.calls;
    if (!unread || untold) await closed;
  }

  cut(): string[] {
    void this.#state.attemptLater(() => this.#server.stop(true));
    // Connections of routes that do not go through the handler.
    return this.#lingers ? ["connections that were not counted"] : [];
  }

  /** Waits for uploads that stopping would break, then stops. */
  async #stop(): Promise<void> {
    const { calls, forced } = this.#state;
    let closed: Promise<void> | void;
    try {
      while (this.#server.breaksUploads && calls.uploads.size > 0) {
        this.#release();
        await calls.uploads.wait({ signal: forced });
        await this.settle();
      }
      closed = this.#server.stop(false);
    } finally {
      calls.listening--;
      this.#release();
    }
    await closed;
  }
}
