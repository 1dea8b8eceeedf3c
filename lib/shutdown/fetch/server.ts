/**
 * Servers of Deno.serve and Bun.serve in GracefulShutdown. The handler counts what is in flight there; both close their
 * idle connections themselves as soon as they stop listening.
 *
 * @module
 */
import { acceptQueueEmpty } from "../accept_queue.ts";
import { type AttachedServer, LINGER, type ShutdownState } from "../shutdown_state.ts";

/** The part of Deno.serve's server that is used. */
export interface DenoServerLike {
  /** Stops listening; resolves when the last connection is closed. */
  shutdown(): Promise<void>;
}

/** The part of Bun.serve's server that is used. */
export interface BunServerLike {
  /** Stops listening, and closes every connection if asked to; resolves when the last connection is closed. */
  stop(closeActiveConnections?: boolean): Promise<void> | void;
  /** Number of requests in flight. */
  readonly pendingRequests?: number;
  /** Number of open WebSockets. */
  readonly pendingWebSockets?: number;
}

/** The abilities of an attached server. */
interface Abilities {
  /** Stops listening; closes every connection if `force` is set. */
  stop(force: boolean): Promise<void> | void;
  /** Whether the server knows that nothing is in flight. */
  quiet?(): boolean;
  /** Whether stopping breaks uploads that are still coming in. */
  readonly breaksUploads?: boolean;
}

/** How a server of Deno.serve behaves. */
export function denoAbilities(server: DenoServerLike): Abilities {
  // It cannot be closed by force; its `signal` option does that. https://github.com/denoland/deno/issues/36809
  return { stop: (force) => force ? undefined : server.shutdown(), breaksUploads: true };
}

/** How a server of Bun.serve behaves. */
export function bunAbilities(server: BunServerLike): Abilities {
  return {
    stop: (force) => server.stop(force),
    quiet: () => server.pendingRequests === 0 && server.pendingWebSockets === 0,
  };
}

/** ms within which the run-time accepts the connections that are there, reads their requests and calls the handler. */
const TURN = 1;

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
  }

  readonly accepted = 0; // unknown

  isBusy(): boolean {
    return false; // it stops listening later, in #stop()
  }

  begin(): void {}

  stopListening(): void {
    this.#closed = this.#stop();
    this.#closed.catch(() => {}); // close() throws it
  }

  sweep(): void {}

  async close(): Promise<void> {
    this.#lingers = true;
    const closed = this.#closed?.finally(() => this.#lingers = false);
    await this.#state.pause(LINGER, closed?.catch(() => {}));
    // The connections that are left have sent no request, or not the whole of one.
    if (this.#lingers && this.#server.quiet?.()) await this.#server.stop(true);
    await closed;
  }

  cut(): string[] {
    void this.#state.attemptLater(() => this.#server.stop(true));
    // Connections of routes that do not go through the handler.
    return this.#lingers ? ["connections that were not counted"] : [];
  }

  async #stop(): Promise<void> {
    const { uploads, forcing, idle, handled, keepingAlive } = this.#state;
    // Stopping resets a connection on which the next request is on its way. Within this time a client in a loop sends it,
    // and its answer has "Connection: close".
    const wait = this.#state.keptAliveAt + idle - performance.now();
    if (wait > 0) await this.#state.pause(wait);
    // Stopping also closes the connection of each answer that is being sent, right behind it.
    const calm = () => uploads.size > 0 || keepingAlive.size > 0 ? NaN : handled.count;
    if (handled.isBusy()) await acceptQueueEmpty(calm, () => this.#state.pause(TURN), 3 * TURN);
    while (this.#server.breaksUploads && uploads.size > 0) await uploads.wait({ signal: forcing.signal });
    await this.#server.stop(false);
  }
}
