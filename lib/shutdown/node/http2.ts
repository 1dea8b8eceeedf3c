/**
 * HTTP/2 in GracefulShutdown. Invariant: a stream is in flight from its headers to its close.
 *
 * Like requests of HTTP/1.1, streams are held back until the listener is closed: a server that is busy with them
 * accepts connections too slowly to empty its accept queue in time. Then the sessions end. Node (26.10) and Deno (2.9.6)
 * ignore the streams that cross a GOAWAY, even one that excludes no stream; Bun (1.4) serves them. So a session gets it
 * while its client waits for responses: with the streams that come next, which are held back until a moment has passed
 * in which no stream came or ended. A session without streams gets it after the idle time. Only clients that open
 * streams without waiting for others may have to send some again: a final GOAWAY after the idle time shows which.
 *
 * @module
 */
import { throwUncaught } from "../../internal/platform.ts";
import { immediate } from "../calm_turn.ts";
import { InFlight, type Labeler, requestLabel } from "../in_flight.ts";
import { CHECK_EVERY, REFUSAL, type ShutdownState } from "../shutdown_state.ts";
import { whenUploaded } from "./messages.ts";
import type { Emitter, NodeRequestLike } from "./shapes.ts";

/** The part of a ServerHttp2Session that is used. */
export interface SessionLike extends Emitter {
  readonly closed: boolean;
  goaway(code: number, lastStreamId: number): unknown;
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
}

const CANCEL = 8;
/** Maximum number of checks whether streams keep coming. Further ones do not help against clients that never wait. */
const MOST_CHECKS = 5;

/** What is known of a session. */
interface Use {
  /** The number of its open streams. */
  open: number;
  /** The number of checks in a row in which no stream came or ended. */
  idle: number;
  /** Set by its last streams; resolves when GOAWAY is sent. */
  goaway?: Promise<void>;
}

/** The sessions of one server. */
export class Http2Sessions {
  readonly #state: ShutdownState;
  readonly #labeler: Labeler<NodeRequestLike>;
  readonly #sessions = new Map<SessionLike, Use>();

  constructor(state: ShutdownState, labeler: Labeler<NodeRequestLike>) {
    this.#state = state;
    this.#labeler = labeler;
  }

  /** Adds a session, unless it is known. */
  add(session: SessionLike): Use {
    let use = this.#sessions.get(session);
    if (use === undefined) {
      this.#sessions.set(session, use = { open: 0, idle: 0 });
      session.once("close", () => this.#sessions.delete(session));
    }
    return use;
  }

  /** Counts a stream until it is closed, and passes it on once streams are no longer held back, or refuses it. Returns what
   * `emit` has to return. */
  receive(stream: StreamLike, headers: NodeRequestLike["headers"], pass: () => boolean): boolean {
    const { session } = stream;
    if (!session) return pass(); // it was destroyed at once
    const use = this.add(session); // it may be from before the server was attached
    if (this.#state.refuses) {
      stream.once("error", () => {}); // the client may reset it meanwhile
      stream.respond({ ":status": 503, "retry-after": this.#state.retryAfter, "content-type": "text/plain" });
      stream.end(headers[":method"] === "HEAD" ? "" : REFUSAL);
      return true;
    }
    const request = { method: String(headers[":method"]), url: String(headers[":path"]), headers };
    const entry = new InFlight(requestLabel(request, this.#labeler));
    entry.cut = () => void stream.close(CANCEL);
    this.#state.inFlight.add(entry);
    const end = () => this.#state.inFlight.delete(entry);
    use.open++;
    use.idle = 0;
    stream.once("close", () => {
      use.open--;
      use.idle = 0;
      end();
    });
    if (!stream.endAfterHeaders) stream.once("finish", () => whenUploaded([[stream, "close"]], end));
    if (!this.#state.hasReached("calming")) return pass();
    this.#end(session, use).then(() => entry.isListed && pass()).catch(throwUncaught);
    return true;
  }

  /** Ends the sessions: those without streams with their next ones, or after the idle time. */
  announce(): void {
    for (const [session, use] of this.#sessions) void this.#end(session, use);
  }

  /** Sends GOAWAY once no stream has come or ended for a moment, unless there is none. */
  #end(session: SessionLike, use: Use): Promise<void> {
    return use.goaway ??= (async () => {
      await this.#state.heldBack;
      for (let checks = 0; use.idle < 2 && checks < MOST_CHECKS; checks++) {
        await this.#state.pause(CHECK_EVERY);
        await immediate(); // streams that have arrived are read
      }
      if (use.open > 0) this.#state.collectErrorOf(() => session.closed || session.goaway(0, 2 ** 31 - 1));
      else delete use.goaway; // its client may be about to open the next stream
    })();
  }

  /** Called every few ms while draining. A session that closes keeps its open streams. */
  endIdle(): void {
    // Counted in checks: on a busy machine checks take longer, and so do clients.
    for (const [session, use] of this.#sessions) {
      if (++use.idle * CHECK_EVERY > this.#state.settings.idle) session.close();
    }
  }

  destroy(): void {
    for (const session of this.#sessions.keys()) session.destroy();
  }
}
