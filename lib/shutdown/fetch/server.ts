/**
 * Servers of Deno.serve and Bun.serve in GracefulShutdown. The handler counts what is in flight there; both close their
 * idle connections themselves as soon as they stop listening.
 *
 * @module
 */
import { acceptQueueEmpty } from "../accept_queue.ts";
import type { Abilities } from "./calls.ts";
import { type AttachedServer, LINGER, type ShutdownState, TURN } from "../shutdown_state.ts";

/** One attached server. */
export class FetchServer implements AttachedServer {
  readonly #state: ShutdownState;
  readonly #server: Abilities;
  /** Set from stopListening() on. */
  #closed: Promise<void> | undefined;
  /** Whether connections are open while nothing is in flight. */
  #lingers = false;

  constructor(state: ShutdownState, server: Abilities) {
    this.#state = state;
    this.#server = server;
    state.calls.isAttached = true;
  }

  isUncounted(): boolean {
    const { wrapped, arrivals } = this.#state.calls;
    return !wrapped || (arrivals.count === 0 && this.#server.isQuiet?.() === false);
  }

  stopListening(): void {
    this.#closed = this.#stop();
    this.#closed.catch(() => {}); // close() throws it
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

  /** Waits for what stopping would break, then stops. */
  async #stop(): Promise<void> {
    const { calls, forced, settings: { idle } } = this.#state;
    const { arrivals, uploads } = calls;
    // Stopping resets a connection on which the next request is on its way. Within this time a client in a loop sends it,
    // and its answer has "Connection: close".
    const since = Math.max(0, Date.now() - calls.keptAliveAt); // less than 0: the wall clock was set back
    if (since < idle) await this.#state.pause(idle - since);
    // Stopping also closes the connection of each answer that is being sent, right behind it.
    const calm = () => uploads.size > 0 || calls.keepingAlive > 0 ? NaN : arrivals.count;
    if (arrivals.isBusy()) await acceptQueueEmpty(calm, forced, () => this.#state.pause(TURN), 3 * TURN);
    while (this.#server.breaksUploads && uploads.size > 0) await uploads.wait({ signal: forced });
    await this.#server.stop(false);
  }
}
