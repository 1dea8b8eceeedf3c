/**
 * Calls of Deno.serve (2.9.6): the moment at which a response is sent, uploads, and closing by force.
 *
 * @module
 */
import { withCut } from "./body_end.ts";
import type { Call } from "./calls.ts";
import type { ShutdownState } from "../shutdown_state.ts";

/** The part of Deno.serve's server that is used. */
export interface DenoServerLike {
  /** Stops listening; resolves when the last connection is closed. */
  shutdown(): Promise<void>;
}

/** In bytes. Deno reports the end of a response about when the system has the last piece of this size. */
const PIECE = 65_536;

/** In bytes. Larger responses are sent in pieces even by attached servers, which takes four times the CPU time. */
const LARGE = 16 * PIECE;

/** The second argument of a Deno.serve handler. */
interface DenoInfo {
  /**
   * Resolves a turn early; for a large body that is not a stream, long before it is sent. Closing the server waits for
   * the body.
   */
  readonly completed: Promise<void>;
}

/** Whether this is the second argument of a Deno.serve handler. Reading `completed` would create a promise. */
export function isDenoInfo(info: unknown): info is DenoInfo {
  return typeof info === "object" && info !== null && "completed" in info;
}

/**
 * Ends the call when its response has been sent, and returns a response that can be cut. A small body that is not a
 * stream stays untouched, to keep the server's fast path, and counts as handed over within this turn, before
 * `completed` resolves. The close of an attached server waits for everything handed over; without one, the drain waits
 * for the next turn.
 */
export function sendByDeno<R>(call: Call, info: DenoInfo, answer: R): R | Response {
  const state = call.shutdown;
  const body = answer instanceof Response ? bodyOf(answer) : undefined;
  const isWhole = body !== undefined && !(body instanceof ReadableStream);
  if (isWhole && (body.length <= PIECE || (body.length <= LARGE && isCloseAwaited(state)))) {
    state.endsUnreported ||= body.length > PIECE;
    call.end();
    return answer;
  }
  const end = () => call.end();
  info.completed.then(end, end);
  if (!(answer instanceof Response) || call.request.method === "HEAD") return answer;
  if (isWhole) return sendInPieces(answer, body, call);
  return body === undefined || body.locked ? answer : withCut(answer, answer.headers, answer.body!.getReader(), call);
}

/** Whether the drain waits until a server of this kind is closed. */
function isCloseAwaited({ servers }: ShutdownState): boolean {
  return [...servers.values()].some(({ isUncounted }) => isUncounted !== undefined); // not a server of node:http
}

/**
 * Returns the response with its complete body split into pieces, so that its end is not reported while most is unsent.
 */
function sendInPieces(response: Response, whole: string | Uint8Array, call: Call): Response {
  const bytes = typeof whole === "string" ? new TextEncoder().encode(whole) : whole;
  const headers = new Headers(response.headers);
  headers.set("content-length", String(bytes.length));
  let sent = 0; // bytes
  const read = () =>
    Promise.resolve(sent < bytes.length ? { done: false, value: bytes.subarray(sent, sent += PIECE) } : { done: true });
  return withCut(response, headers, { read, cancel: () => Promise.resolve() }, call);
}

/** Deno's internal fields are named by symbols that all responses share; found in the first response that has them. */
let lazyBodySymbol: symbol | undefined;
let responseSymbol: symbol | undefined;

/**
 * Returns the body as the handler created it, from Deno's internal fields: the public `body` would turn every body into
 * a stream, which is slow. Without these fields, streams are cut only by the end of the process.
 */
function bodyOf(response: Response): ReadableStream | string | Uint8Array | undefined {
  lazyBodySymbol ??= symbolOf(response, "lazy static body");
  const lazyBody = valueOf(response, lazyBodySymbol);
  if (isWholeBody(lazyBody)) return lazyBody;
  responseSymbol ??= symbolOf(response, "response");
  const { body } = Object(valueOf(response, responseSymbol)) as { body?: { streamOrStatic?: unknown } | null };
  const original = body?.streamOrStatic;
  if (original instanceof ReadableStream) return original;
  const { body: whole, consumed } = Object(original) as { body?: unknown; consumed?: unknown };
  return consumed === false && isWholeBody(whole) ? whole : undefined;
}

function symbolOf(holder: object, name: string): symbol | undefined {
  return Object.getOwnPropertySymbols(holder).find(({ description }) => description === name);
}

function valueOf(holder: object, field: symbol | undefined): unknown {
  return field && (holder as Record<symbol, unknown>)[field];
}

function isWholeBody(body: unknown): body is string | Uint8Array {
  return typeof body === "string" || body instanceof Uint8Array;
}

/** HTTP/1.1 announces a body by one of these headers. HTTP/2 need not; its requests have no header Host. */
function mayHaveBody(headers: Headers): boolean {
  const length = headers.get("content-length");
  return length === null ? headers.has("transfer-encoding") || !headers.has("host") : length !== "0";
}

/**
 * Whether the body of a request may still be arriving, without a response that makes it unnecessary. The server breaks
 * such uploads when it stops listening. Only for use during a shutdown: Deno reads a body more slowly once its stream
 * has been touched.
 */
export function isUploading({ request, info, stage }: Call): boolean {
  if (stage === "held" || !isDenoInfo(info)) return false;
  try {
    const body = mayHaveBody(request.headers) ? request.body : null;
    return body !== null && (valueOf(body, symbolOf(body, "[[state]]")) ?? "readable") === "readable";
  } catch {
    return false; // the response has been sent
  }
}

/**
 * Whether the call may still read its upload after this answer: a stream may consist of what it reads. Such a response
 * is not to be held back, because the upload would wait for it.
 */
export function readsOn(call: Call, answer: unknown): boolean {
  return answer instanceof Response && isUploading(call) && bodyOf(answer) instanceof ReadableStream;
}
