/**
 * Notices when an answer has been sent: Deno has a promise for it, Bun is polled, and elsewhere the body is watched. On Bun,
 * and on Deno if the body is no stream, the answer is passed on untouched, so that their fast paths stay open.
 *
 * @module
 */
import { withBodyEnd, withCut } from "./body_end.ts";
import type { InFlight } from "../shutdown_state.ts";

/** The second argument of a Deno.serve handler. */
interface DenoInfo {
  /** Early for a large body that is no stream: its last part may still be on its way. Closing the server waits for that. */
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
  readonly #sending = new Set<Sending>();
  // Bounds #sending to twice what was really being sent at the last sweep, and a constant.
  #sweepAt = 64;

  /**
   * Calls `ended` when the answer to `request` has been sent or has failed.
   *
   * @param response The handler's answer; undefined if it threw, or answers in another way (an upgrade).
   * @param info The handler's second argument, by which the server is known.
   */
  async watch<R>(request: Request, response: R, info: unknown, entry: InFlight, ended: () => void): Promise<R> {
    if (isDenoInfo(info)) {
      info.completed.then(ended, ended);
      return response instanceof Response && hasStream(response) ? withCut(response, entry) as R : response;
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
 * Whether the body is a stream that the handler made. The public `body` would make a stream of every body, and Deno slow;
 * this reads Deno's own field, without which streams are only cut by the end of the process.
 */
function hasStream(response: Response): boolean {
  const field = Object.getOwnPropertySymbols(response).find(({ description }) => description === "response");
  if (field === undefined) return false;
  const { body } = (response as unknown as Record<symbol, { body?: { streamOrStatic?: unknown } | null }>)[field] ?? {};
  return body?.streamOrStatic instanceof ReadableStream && !body.streamOrStatic.locked;
}
