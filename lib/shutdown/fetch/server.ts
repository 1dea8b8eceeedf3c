/**
 * Servers of Deno.serve and Bun.serve in GracefulShutdown. The handler counts their requests in flight. Both close idle
 * connections themselves as soon as they stop listening.
 *
 * @module
 */
import { type DenoServerLike, isUploading } from "./deno.ts";
import { Call } from "./calls.ts";
import { OpenSocket } from "../web_socket.ts";
import { calmTurn } from "../calm_turn.ts";
import type { BunServerLike } from "../platform/bun.ts";
import { type AttachedServer, CHECK_EVERY, LINGER, type ShutdownState } from "../shutdown_state.ts";

/** One attached server. */
export class FetchServer implements AttachedServer {
  readonly #state: ShutdownState;
  readonly #server: DenoServerLike | BunServerLike;
  /** Settles when the last connection is closed. Set by stopListening(). */
  #closed: Promise<void> | undefined;
  #isClosed = false;

  constructor(state: ShutdownState, server: DenoServerLike | BunServerLike) {
    this.#state = state;
    this.#server = server;
  }

  isUncounted(): boolean {
    // Or requests bypass the handler.
    return !this.#state.hasWrapped || (this.#state.handlerCalls === 0 && this.#isServerIdle() === false);
  }

  /**
   * Stopping closes every connection without a request in flight, even if the next request is on its way. Responses are
   * held back meanwhile, so after the idle time clients have requests in flight. It also closes the connections of
   * responses that are being sent, after each response; short ones end before. Uploads would break, and Deno (2.9.6)
   * closes WebSockets that the caller's function is still to close, so it waits for those that have begun, and no
   * response is held back meanwhile. After each response its client may begin another upload, so uploads could overlap
   * indefinitely. Then responses are held back, each time for up to a second.
   */
  async awaitCalm(): Promise<void> {
    const [state, isOnDeno] = [this.#state, "shutdown" in this.#server];
    const calls = () => [...state.inFlight].filter((entry) => entry instanceof Call);
    const isBreakable = (entry: object) =>
      entry instanceof Call ? isUploading(entry) : isOnDeno && entry instanceof OpenSocket && entry.isClosing;
    const breakable = () => state.forced.aborted ? [] : [...state.inFlight].filter(isBreakable);
    const countArrivals = () => {
      state.inFlight.sweep();
      // NaN equals no number, so a turn in which responses are being sent is not calm.
      return calls().some(({ stage }) => stage === "sending") ? NaN : state.handlerCalls;
    };
    for (;;) {
      const breakableBefore = new Set(breakable());
      for (; breakable().some((entry) => breakableBefore.has(entry)); await state.pause(CHECK_EVERY)) state.resume();
      state.holdBack();
      const deadline = performance.now() + LINGER;
      while (breakable().length > 0 && performance.now() < deadline) await state.pause(CHECK_EVERY);
      if (breakable().length === 0) await calmTurn(state, countArrivals, "timer"); // even if Node emulates such a server
      if (breakable().length === 0) return;
    }
  }

  stopListening(): void {
    const markClosed = () => void (this.#isClosed = true);
    this.#closed = (async () => await this.#stop(false))();
    this.#closed.then(markClosed, markClosed); // close() throws the error
  }

  async close(): Promise<void> {
    await this.#state.pause(LINGER, this.#closed);
    // The remaining connections have sent no complete request.
    if (!this.#isClosed && this.#isServerIdle()) await this.#stop(true);
    // Deno waits for all uploads to end, even after their responses; often nothing else can be open.
    if (this.#isServerIdle() !== undefined || this.#state.endsUnreported || this.isUncounted()) await this.#closed;
  }

  cut(): string[] {
    void this.#state.collectRejection(() => this.#stop(true));
    // Connections of routes that bypass the handler.
    return this.#isClosed || this.#state.cut.size > 0 ? [] : ["connections that were not counted"];
  }

  /**
   * Stops listening; closes every connection if `force` is set. Deno's server has no method for that, only its `signal`
   * option. https://github.com/denoland/deno/issues/36809
   */
  #stop(force: boolean): Promise<void> | void {
    const server = this.#server;
    return "shutdown" in server ? server.shutdown() : server.stop(force);
  }

  /** Whether nothing is in flight; undefined on Deno, whose server does not know. */
  #isServerIdle(): boolean | undefined {
    const server = this.#server;
    return "shutdown" in server ? undefined : server.pendingRequests === 0 && server.pendingWebSockets === 0;
  }
}
