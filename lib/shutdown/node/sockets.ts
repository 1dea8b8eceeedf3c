/**
 * The connections of a node:http server, and which of them are idle.
 *
 * @module
 */

/** The part of a node:net socket that is used. */
export interface SocketLike {
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  readonly bytesRead?: number;
  /** Of TLS: the protocol that was negotiated. */
  readonly alpnProtocol?: string | false | null;
  on(event: string, listener: () => void): unknown;
  once(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
  resume(): unknown;
  end(data?: string): unknown;
  destroy(): unknown;
}

interface State {
  /** One callback for each unanswered request, called if the connection closes first. An upgraded connection keeps one. */
  readonly requests: Set<() => void>;
  /** Since when it has been silent. */
  quietSince: number;
  /** Number of looks in a row that found it silent. */
  looks: number;
  bytesRead: number | undefined;
}

/** A busy process may find a connection silent only because it has not read from it yet. Between two looks it does. */
const LOOKS = 3;

/** The open connections of one server. */
export class NodeSockets {
  readonly #states = new Map<SocketLike, State>();
  readonly #idle: number;

  /** @param idle ms that a connection has to be silent in order to count as idle. */
  constructor(idle: number) {
    this.#idle = idle;
  }

  /** Number of open and half-closed connections. */
  get size(): number {
    return this.#states.size;
  }

  /** Whether there is a connection that the server has not closed its side of. */
  hasOpen(): boolean {
    for (const socket of this.#states.keys()) if (!socket.writableEnded && !socket.destroyed) return true;
    return false;
  }

  /** Adds a connection. */
  meet(socket: SocketLike): State {
    let state = this.#states.get(socket);
    if (state === undefined) {
      const requests = new Set<() => void>();
      state = { requests, quietSince: performance.now(), looks: 0, bytesRead: socket.bytesRead };
      this.#states.set(socket, state);
      socket.once("close", () => {
        this.#states.delete(socket);
        for (const closed of requests) closed();
      });
      if (socket.destroyed) this.#states.delete(socket);
    }
    return state;
  }

  /**
   * Counts a request that has arrived on it.
   *
   * @param closed Called if the connection is closed before its answer has been sent.
   * @returns A function to call when it has been.
   */
  begin(socket: SocketLike, closed: () => void): () => void {
    const state = this.meet(socket);
    state.requests.add(closed);
    state.looks = 0;
    return () => {
      state.requests.delete(closed);
      state.quietSince = performance.now();
    };
  }

  /** Begins the idle time of every connection anew. */
  restartIdleTime(): void {
    for (const state of this.#states.values()) state.quietSince = performance.now();
  }

  /**
   * Closes the server's side of idle connections. The client sees the end of the stream rather than a reset, also if it is
   * sending at this moment: later requests are read, and not answered.
   */
  endIdle(): void {
    for (const [socket, state] of this.#states) {
      if (this.#isIdle(socket, state) && !socket.writableEnded) socket.end();
    }
  }

  #isIdle(socket: SocketLike, state: State): boolean {
    if (state.requests.size > 0) return false;
    if (state.bytesRead !== socket.bytesRead) {
      // The head of a request is on its way in.
      state.bytesRead = socket.bytesRead;
      state.quietSince = performance.now();
      state.looks = 0;
    }
    return ++state.looks >= LOOKS && performance.now() - state.quietSince >= this.#idle;
  }

  /** Closes all of them at once. */
  destroy(): void {
    for (const socket of [...this.#states.keys()]) socket.destroy();
  }
}
