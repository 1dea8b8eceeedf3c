/**
 * Notices when an answer has been sent: Deno has a promise for it, Bun is polled, and elsewhere the body is watched. On Bun,
 * and on Deno if the body is no stream, the answer is passed on untouched, so that their fast paths stay open.
 *
 * @module
 */
import { inPieces, PIECE, withBodyEnd, withCut } from "./body_end.ts";
import type { InFlight, ShutdownState } from "../shutdown_state.ts";

/** The second argument of a Deno.serve handler. */
interface DenoInfo {
  /** Early for a large body that is no stream: most of it may still be on its way. Closing the server waits for that. */
  readonly completed: Promise<void>;
}

/** The second argument of a Bun.serve handler. */
interface BunServer {
  readonly pendingRequests: number;
  /** null once the request is over; for a Unix socket it always is. */
  requestIP(request: Request): unknown;
}

/** A request whose answer Bun is still sending. */
interface Sending {
  readonly server: BunServer;
  readonly request: Request;
  readonly ended: () => void;
}

/** Watches the answers of one shutdown. */
export class ResponseTracker {
  readonly #state: ShutdownState;
  readonly #sending = new Set<Sending>();
  // Bounds #sending to twice what was really being sent at the last sweep, and a constant.
  #sweepAt = 64;

  constructor(state: ShutdownState) {
    this.#state = state;
  }

  /**
   * Calls `ended` when the answer to `request` has been sent or has failed.
   *
   * @param response The handler's answer; undefined if it threw, or answers in another way (an upgrade).
   * @param info The handler's second argument, by which the server is known.
   */
  async watch<R>(request: Request, response: R, info: unknown, entry: InFlight, ended: () => void): Promise<R> {
    if (isDenoInfo(info)) {
      info.completed.then(ended, ended);
      return response instanceof Response && request.method !== "HEAD"
        ? this.#observable(response, entry) as R
        : response;
    }
    if (isBunServer(info)) this.#remember({ server: info, request, ended });
    else if (response instanceof Response && request.method !== "HEAD" && response.status !== 101) {
      return await withBodyEnd(response, entry, ended) as R;
    } else ended();
    return response;
  }

  /** Drops the requests whose answers Bun has sent in the meantime. */
  sweep(): void {
    for (const sending of this.#sending) {
      if (sending.server.requestIP(sending.request) !== null) continue;
      this.#sending.delete(sending);
      sending.ended();
    }
    this.#sweepAt = 2 * this.#sending.size + 64;
  }

  /** The same answer for Deno, so that it can be cut, and its end is reported in time. */
  #observable(response: Response, entry: InFlight): Response {
    const body = bodyOf(response);
    if (body instanceof ReadableStream) return body.locked ? response : withCut(response, entry);
    const isLate = this.#state.servers.length === 0 && body !== undefined && body.length > PIECE;
    return isLate ? inPieces(response, body) : response;
  }

  #remember(sending: Sending): void {
    this.#sending.add(sending);
    if (this.#sending.size >= this.#sweepAt) this.sweep();
  }
}

/** Whether this is the second argument of a Deno.serve handler. */
export function isDenoInfo(info: unknown): info is DenoInfo {
  const completed = (info as Partial<DenoInfo> | null | undefined)?.completed;
  return typeof completed?.then === "function";
}

function isBunServer(info: unknown): info is BunServer {
  const server = info as Partial<BunServer> | null | undefined;
  return typeof server?.requestIP === "function" && typeof server.pendingRequests === "number";
}

/**
 * The body as the handler made it. The public `body` would make a stream of every body, and Deno slow; this reads Deno's own
 * fields, without which streams are only cut by the end of the process.
 */
function bodyOf(response: Response): ReadableStream | string | Uint8Array | undefined {
  const lazy = ownField(response, "lazy static body");
  if (isWhole(lazy)) return lazy;
  const { body } = Object(ownField(response, "response")) as { body?: { streamOrStatic?: unknown } | null };
  const made = body?.streamOrStatic;
  if (made instanceof ReadableStream) return made;
  const { body: whole, consumed } = Object(made) as { body?: unknown; consumed?: unknown };
  return consumed === false && isWhole(whole) ? whole : undefined;
}

function ownField(response: Response, name: string): unknown {
  const field = Object.getOwnPropertySymbols(response).find(({ description }) => description === name);
  return field === undefined ? undefined : (response as unknown as Record<symbol, unknown>)[field];
}

function isWhole(body: unknown): body is string | Uint8Array {
  return typeof body === "string" || body instanceof Uint8Array;
}
