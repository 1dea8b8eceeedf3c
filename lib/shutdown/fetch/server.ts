/**
 * What Deno.serve and Bun.serve return, as far as the drain needs it: to stop listening in the end. What is in flight
 * there is counted by the handler.
 *
 * @module
 */
import { type AttachedServer, type Desk, LINGER } from "../shutdown_state.ts";

/** The part of Deno.serve's server that is used. */
export interface DenoServerLike {
  /** Stops listening; resolves when the last connection is closed. */
  shutdown(): Promise<void>;
}

/** The part of Bun.serve's server that is used. */
export interface BunServerLike {
  /** Stops listening; resolves when the last connection is closed, which can be brought about. */
  stop(closeActiveConnections?: boolean): Promise<void> | void;
  /** How many requests are in flight. */
  readonly pendingRequests?: number;
  /** How many WebSockets are open. */
  readonly pendingWebSockets?: number;
}

/** One attached server. */
export class FetchServer implements AttachedServer {
  readonly #desk: Desk;
  readonly #stop: (force: boolean) => Promise<void> | void;
  readonly #quiet: () => boolean;
  #closing = false;

  /** @param quiet Whether the server knows that nothing is in flight. */
  constructor(desk: Desk, stop: (force: boolean) => Promise<void> | void, quiet: () => boolean = () => false) {
    this.#desk = desk;
    this.#stop = stop;
    this.#quiet = quiet;
  }

  refuse(): void {
    // Newcomers are refused by the handler. Neither server can close its idle connections alone without a race.
  }

  async close(): Promise<void> {
    // Clients that have heard "Connection: close" send no more; those that have not are silent since then.
    const { idle, keptAliveAt } = this.#desk;
    await this.#desk.pause(keptAliveAt + idle - performance.now());
    this.#closing = true;
    const closed = (async () => await this.#stop(false))().finally(() => this.#closing = false);
    await this.#desk.pause(LINGER, closed.catch(() => {}));
    // What is left are connections on which nothing was asked, or not the whole of it.
    if (this.#closing && this.#quiet()) await this.#stop(true);
    await closed;
  }

  cut(): string[] {
    void (async () => await this.#stop(true))().catch((error) => void this.#desk.errors.push(error));
    // Connections of routes that don't go through the handler.
    return this.#closing ? ["connections that were not counted"] : [];
  }
}
