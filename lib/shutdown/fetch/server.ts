/**
 * Servers of Deno.serve and Bun.serve in GracefulShutdown. The handler counts their requests in flight. Both close idle
 * connections themselves as soon as they stop listening.
 *
 * @module
 */
import { type Abilities, someCall } from "./calls.ts";
import { calmTurn } from "../calm_turn.ts";
import { type AttachedServer, LINGER, LOOK, type ShutdownState } from "../shutdown_state.ts";

/** One attached server. */
export class FetchServer implements AttachedServer {
  readonly #state: ShutdownState;
  readonly #server: Abilities;
  /** Settles when the last connection is closed. Set by stopListening(). */
  #closed: Promise<void> | undefined;
  #isClosed = false;

  constructor(state: ShutdownState, server: Abilities) {
    this.#state = state;
    this.#server = server;
  }

  isUncounted(): boolean {
    const { wrapped, arrived } = this.#state;
    return !wrapped || (arrived === 0 && this.#server.isQuiet?.() === false);
  }

  /**
   * Stopping closes every connection without a request in flight, even if the next request is on its way. Responses are
   * held back meanwhile, so after the idle time clients have requests in flight. It also closes the connections of
   * responses that are being sent, after each response; short ones end before. Uploads would break, so it waits for
   * them; no response is held back meanwhile.
   */
  async settle(): Promise<void> {
    const state = this.#state;
    const uploads = () => !state.forced.aborted && someCall(state, (call) => call.uploads);
    const arrived = () => {
      state.inFlight.sweep();
      return someCall(state, ({ stage }) => stage === "sending") ? NaN : state.arrived;
    };
    do {
      for (; uploads(); await state.pause(LOOK)) state.release();
      await calmTurn(state, arrived, "timer");
    } while (uploads());
  }

  stopListening(): void {
    const closed = () => void (this.#isClosed = true);
    this.#closed = (async () => await this.#server.stop(false))();
    this.#closed.then(closed, closed); // close() throws the error
  }

  async close(): Promise<void> {
    await this.#state.pause(LINGER, this.#closed);
    // The remaining connections have sent no complete request.
    if (!this.#isClosed && this.#server.isQuiet?.()) await this.#server.stop(true);
    // Deno waits for all uploads to end, even after their responses; often nothing else can be open.
    if (this.#server.isQuiet !== undefined || this.#state.untold || this.isUncounted()) await this.#closed;
  }

  cut(): string[] {
    void this.#state.attemptLater(() => this.#server.stop(true));
    // Connections of routes that bypass the handler.
    return this.#isClosed || this.#state.cut.size > 0 ? [] : ["connections that were not counted"];
  }
}
