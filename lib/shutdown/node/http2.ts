/**
 * HTTP/2 in GracefulShutdown. Invariant: a stream is in flight from its headers to its close.
 *
 * Like requests of HTTP/1.1, streams are held back until the listener is closed: a server that is busy with them
 * accepts connections too slowly to empty its accept queue in time. Then each used session gets a GOAWAY that excludes
 * no stream, so that Bun (1.4) serves streams that cross it; Node (26.10) and Deno (2.9.6) ignore new streams from then
 * on. After the idle time a final GOAWAY shows the client which streams to retry elsewhere, and the session closes with
 * its last stream.
 *
 * @module
 */
import { throwUncaught } from "../../internal/platform.ts";
import { InFlight, type Labeler, requestLabel } from "../in_flight.ts";
import { REFUSAL, type ShutdownState } from "../shutdown_state.ts";
import { whenUploaded } from "./messages.ts";
import type { Emitter, NodeRequestLike } from "./shapes.ts";

/** The part of a ServerHttp2Session that is used. */
export interface SessionLike extends Emitter {
  readonly closed: boolean;
  goaway(code?: number, lastStreamId?: number): unknown;
  close(): unknown;
  destroy(): unknown;
}

/** The part of a ServerHttp2Stream that is used. */
export interface StreamLike extends Emitter {
  readonly session?: SessionLike | undefined;
  /** Whether the request consists of headers only. */
  readonly endAfterHeaders?: boolean;
  close(code?: number): unknown;
  respond(headers: Record<string, string | number>): unknown;
  end(data?: string): unknown;
  on(event: string, listener: () => void): unknown;
}

const NO_ERROR = 0;
const CANCEL = 8;
/** The value of a session that has had a stream; earlier than any time. */
const USED = -Infinity;
/** The largest stream id, which excludes no stream. */
const ANY_STREAM = 2 ** 31 - 1;

/** The sessions of one server. */
export class Http2Sessions {
  readonly #state: ShutdownState;
  readonly #labeler: Labeler<NodeRequestLike>;
  /** Each with the time at which it was opened, or USED from its first stream on. */
  readonly #sessions = new Map<SessionLike, number>();
  #saidGoodbyeAt = -Infinity;

  constructor(state: ShutdownState, labeler: Labeler<NodeRequestLike>) {
    this.#state = state;
    this.#labeler = labeler;
  }

  /** Adds an opened session. */
  add(session: SessionLike): void {
    this.#sessions.set(session, performance.now());
    session.once("close", () => this.#sessions.delete(session));
  }

  /** Counts a stream until it is closed, and passes it on once streams are no longer held back, or refuses it. Returns what
   * `emit` has to return. */
  receive(stream: StreamLike, headers: NodeRequestLike["headers"], pass: () => boolean): boolean {
    const { session } = stream;
    if (session !== undefined) {
      if (!this.#sessions.has(session)) this.add(session); // it is from before the server was attached
      this.#sessions.set(session, USED);
    }
    if (this.#state.refuses) {
      stream.on("error", () => {}); // the client may reset it meanwhile
      stream.respond({ ":status": 503, "retry-after": this.#state.retryAfter, "content-type": "text/plain" });
      stream.end(headers[":method"] === "HEAD" ? "" : REFUSAL);
      return true;
    }
    const request = { method: String(headers[":method"]), url: String(headers[":path"]), headers };
    const entry = new InFlight(requestLabel(request, this.#labeler));
    entry.cut = () => void stream.close(CANCEL);
    this.#state.inFlight.add(entry);
    const end = () => this.#state.inFlight.delete(entry);
    stream.once("close", end);
    if (!stream.endAfterHeaders) stream.once("finish", () => whenUploaded([[stream, "close"]], end));
    const { heldBack } = this.#state;
    if (heldBack === undefined) return pass();
    heldBack.then(() => entry.isListed && pass()).catch(throwUncaught);
    return true;
  }

  /**
   * Sends GOAWAY, except to clients whose first stream is probably on its way. From the end of the idle time on, each
   * session closes once it has no stream.
   */
  sendGoaway(): void {
    this.#saidGoodbyeAt = performance.now();
    for (const [session, openedAt] of this.#sessions) {
      if (openedAt === USED) this.#state.collectErrorOf(() => session.closed || session.goaway(NO_ERROR, ANY_STREAM));
    }
  }

  /** Called every few ms while draining. */
  endIdle(): void {
    const idleSince = performance.now() - this.#state.settings.idle;
    for (const [session, openedAt] of this.#sessions) {
      if (Math.max(openedAt, this.#saidGoodbyeAt) <= idleSince && !session.closed) session.close();
    }
  }

  destroy(): void {
    for (const session of this.#sessions.keys()) session.destroy();
  }
}
