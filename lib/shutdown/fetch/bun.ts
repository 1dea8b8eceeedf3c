/**
 * Peculiarities of Bun.serve, as they are in Bun 1.4: it reports only when asked that it has sent an answer, and closes silent
 * connections only by force.
 *
 * @module
 */

/** The part of Bun.serve's server that is used. */
export interface BunServerLike {
  /** Stops listening, and closes every connection if asked to; resolves when the last connection is closed. */
  stop(closeActiveConnections?: boolean): Promise<void> | void;
  /** Number of requests in flight. */
  readonly pendingRequests?: number;
  /** Number of open WebSockets. */
  readonly pendingWebSockets?: number;
}

/** How a server of Bun.serve behaves. */
export function bunAbilities(
  server: BunServerLike,
): { stop(force: boolean): Promise<void> | void; isQuiet(): boolean } {
  return {
    stop: (force) => server.stop(force),
    isQuiet: () => server.pendingRequests === 0 && server.pendingWebSockets === 0,
  };
}

/** The second argument of a Bun.serve handler. */
export interface BunInfo {
  readonly pendingRequests: number;
  /** undefined for a Unix socket. Its `port` is so as well, but takes half a microsecond to read. */
  readonly hostname: string | undefined;
  /** null once the request is over; for a Unix socket it always is. */
  requestIP(request: Request): unknown;
}

/** Whether this is the second argument of a Bun.serve handler. */
export function isBunInfo(info: unknown): info is BunInfo {
  return typeof (info as Partial<BunInfo> | null | undefined)?.requestIP === "function";
}

/** A request that was answered. */
interface Answered {
  readonly request: Request;
  /** Called when its answer is sent. */
  end(): void;
}

/** Calls that were answered, until Bun says that their answers are sent. */
export class BunAnswers {
  readonly #sending = new Map<Answered, BunInfo>();
  // Bounds #sending to twice what was really being sent at the last sweep, and a constant.
  #sweepAt = 64;

  add(call: Answered, server: BunInfo): void {
    // This one is pending itself: if it is alone, all before it are sent, and none has to be asked for.
    if (server.pendingRequests <= 1) this.sweep(server);
    this.#sending.set(call, server);
    if (this.#sending.size >= this.#sweepAt) this.sweep();
  }

  /** Ends the calls whose answers are sent: those of `quiet`, which has no other request pending; else Bun is asked. */
  sweep(quiet?: BunInfo): void {
    for (const [call, server] of this.#sending) {
      const isSent = quiet === undefined ? server.requestIP(call.request) === null : server === quiet;
      if (!isSent) continue;
      this.#sending.delete(call);
      call.end();
    }
    if (quiet === undefined) this.#sweepAt = 2 * this.#sending.size + 64;
  }
}
