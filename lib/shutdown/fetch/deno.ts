/**
 * Peculiarities of Deno.serve, as they are in Deno 2.9.6: when an answer is sent, uploads, and closing by force.
 *
 * @module
 */
import { inPieces, PIECE, withCut } from "./body_end.ts";
import type { Abilities, Call, FetchCalls } from "./calls.ts";

/** The part of Deno.serve's server that is used. */
export interface DenoServerLike {
  /** Stops listening; resolves when the last connection is closed. */
  shutdown(): Promise<void>;
}

/** In bytes. Above it, answers of attached servers are sent in pieces, too, which takes more CPU time. */
const LARGE = 16 * PIECE;

/** How a server of Deno.serve behaves. */
export function denoAbilities(server: DenoServerLike): Abilities {
  // Its connections cannot be closed by force; its `signal` option does that. https://github.com/denoland/deno/issues/36809
  return { stop: () => server.shutdown(), breaksUploads: true };
}

/** The second argument of a Deno.serve handler. */
interface DenoInfo {
  /** A turn early; for a large body that is no stream, long before it is sent: closing the server waits for that. */
  readonly completed: Promise<void>;
}

/** Whether this is the second argument of a Deno.serve handler. Reading `completed` would make a promise. */
export function isDenoInfo(info: unknown): info is DenoInfo {
  return typeof info === "object" && info !== null && "completed" in info;
}

/**
 * Ends the call when its answer has been sent, and returns an answer that can be cut. A small body that is no stream is
 * handed over within this turn, before `completed` could say so, and stays untouched: so the server's fast path stays open.
 * The closing of an attached server waits for all that was handed over; without one, the drain waits for the next turn.
 */
export function sendByDeno<R>(call: Call, info: DenoInfo, answer: R): R | Response {
  const { calls } = call;
  const body = answer instanceof Response ? bodyOf(answer) : undefined;
  const isWhole = body !== undefined && !(body instanceof ReadableStream);
  calls.lagging = !calls.isAttached;
  if (isWhole && body.length <= (calls.isAttached ? LARGE : PIECE)) {
    calls.untold ||= body.length > PIECE;
    call.end();
    return answer;
  }
  const ended = () => call.end();
  info.completed.then(ended, ended);
  if (!(answer instanceof Response) || call.request.method === "HEAD") return answer;
  if (isWhole) return inPieces(answer, body, call);
  return body === undefined || body.locked ? answer : withCut(answer, call);
}

/** Deno's fields have symbols as names, the same ones in all responses; found in the first one that has them. */
let lazyBodyField: symbol | undefined;
let responseField: symbol | undefined;

/**
 * The body as the handler made it. The public `body` would make a stream of every body, and Deno slow; this reads Deno's own
 * fields, without which streams are only cut by the end of the process.
 */
function bodyOf(response: Response): ReadableStream | string | Uint8Array | undefined {
  lazyBodyField ??= fieldOf(response, "lazy static body");
  const lazy = read(response, lazyBodyField);
  if (isWholeBody(lazy)) return lazy;
  responseField ??= fieldOf(response, "response");
  const { body } = Object(read(response, responseField)) as { body?: { streamOrStatic?: unknown } | null };
  const made = body?.streamOrStatic;
  if (made instanceof ReadableStream) return made;
  const { body: whole, consumed } = Object(made) as { body?: unknown; consumed?: unknown };
  return consumed === false && isWholeBody(whole) ? whole : undefined;
}

function fieldOf(response: Response, name: string): symbol | undefined {
  return Object.getOwnPropertySymbols(response).find(({ description }) => description === name);
}

function read(response: Response, field: symbol | undefined): unknown {
  return field && (response as unknown as Record<symbol, unknown>)[field];
}

function isWholeBody(body: unknown): body is string | Uint8Array {
  return typeof body === "string" || body instanceof Uint8Array;
}

const READERS = ["arrayBuffer", "blob", "bytes", "formData", "json", "text"] as const;

/**
 * Adds `request` to the uploads if it has a body, until that has been read or the answer sent: the server (2.9.6) breaks those
 * that are still coming in when it stops listening.
 */
export function trackUpload(calls: FetchCalls, request: Request, info: DenoInfo): void {
  if (request.method === "GET" || request.method === "HEAD" || request.headers.get("content-length") === "0") return;
  const { uploads } = calls;
  uploads.add(request);
  const done = () => uploads.delete(request);
  const answered = () => {
    if (done()) calls.unread = true;
  };
  info.completed.then(answered, answered);
  // The body's own stream would say so, too, but touching it makes Deno read more slowly.
  for (const name of READERS) {
    const read = request[name] as (() => Promise<unknown>) | undefined;
    if (read === undefined) continue;
    const value = () => {
      const result = read.call(request);
      result.then(done, done);
      return result;
    };
    Object.defineProperty(request, name, { value, configurable: true, writable: true });
  }
}
