/**
 * Servers of Deno.serve and Bun.serve in GracefulShutdown. The handler counts their requests in flight. Both close idle
 * connections themselves as soon as they stop listening.
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
  /** Whether connections are open while nothing is in flight. */
  #lingers = false;

  constructor(state: ShutdownState, server: Abilities) {
    this.#state = state;
    this.#server = server;
    state.calls.isAttached = true;
  }

  isUncounted(): boolean {
    const { wrapped, arrived } = this.#state.calls;
    return !wrapped || (arrived === 0 && this.#server.isQuiet?.() === false);
  }

  /** Waits for uploads that stopping would break as well; responses are not held back meanwhile. */
  async settle(): Promise<void> {
    const { calls: { uploads }, forced } = this.#state;
    await this.#calmTurn();
    while (this.#server.breaksUploads && uploads.size > 0 && !forced.aborted) {
      this.#state.release();
      await uploads.wait({ signal: forced }).catch(() => {});
      await this.#calmTurn();
    }
  }

  /**
   * Stopping closes every connection without a request in flight, even if the next request is on its way. Responses are
   * held back meanwhile, so after the idle time clients have requests in flight.
   */
  #calmTurn(): Promise<void> {
    const { calls, settings: { idle } } = this.#state;
    const now = Date.now();
    const since = Math.max(0, now - calls.keptAliveAt); // below 0 if the wall clock was set back
    // Stopping also closes the connections of responses that are being sent, after each response. Short responses end
    // before.
    const arrived = () => (calls.sweep(), calls.keepsAlive(now - LINGER) ? NaN : calls.arrived);
    return calmTurn(this.#state, arrived, "timer", idle - since);
  }

  stopListening(): void {
    this.#closed = (async () => await this.#server.stop(false))();
    this.#closed.catch(() => {}); // close() throws the error
  }

  async close(): Promise<void> {
    this.#lingers = true;
    const closed = this.#closed?.finally(() => this.#lingers = false);
    await this.#state.pause(LINGER, closed?.catch(() => {}));
    // The remaining connections have sent no complete request.
    if (this.#lingers && this.#server.isQuiet?.()) await this.#server.stop(true);
    // Deno waits for all uploads to end, even after their responses; often nothing else can be open.
    if (!this.#server.breaksUploads || this.#state.calls.untold || this.isUncounted()) await closed;
  }

  cut(): string[] {
    void this.#state.attemptLater(() => this.#server.stop(true));
    // Connections of routes that bypass the handler.
    return this.#lingers ? ["connections that were not counted"] : [];
  }
}
