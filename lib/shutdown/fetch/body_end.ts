/**
 * Responses that report the end of their body, and responses that can be cut.
 *
 * A complete body in one piece is passed on as a piece, so that the server can send its length. Any other body passes
 * through a stream that reads on demand only.
 *
 * @module
 */
import type { Call } from "./calls.ts";

/**
 * Turns of the microtask queue within which a complete body can be read. Text and bytes need 1, Deno's Blob needs 4.
 * Node reads a Blob in the background, so its Blob counts as a stream.
 */
const TURNS = 8;

/** In bytes. For a body of one piece, the end is reported about when the system has the piece. */
export const PIECE = 65_536;

/**
 * Returns a copy of `response` that calls `ended` once its body was read to the end, was cancelled or failed. Cutting
 * `call` breaks the body off.
 */
export async function withBodyEnd(response: Response, call: Call, ended: () => void): Promise<Response> {
  const { status, statusText } = response;
  // Bun derives the content type from the body only while the body has not been read.
  const headers = new Headers(response.headers);
  const body = response.body;
  // The server reports an error for a body that was already read.
  if (body === null || response.bodyUsed || body.locked) {
    ended();
    return response;
  }
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  const reads: Read[] = [];
  const whole = await complete(reader, reads);
  if (whole !== undefined) ended();
  return new Response(whole ?? passedThrough(reader, reads, call, ended), { status, statusText, headers });
}

/**
 * Returns the response with a body that breaks off when `call` is cut. For Deno, whose server cannot close connections
 * by force once it has stopped listening.
 */
export function withCut(response: Response, call: Call): Response {
  const { status, statusText, headers } = response;
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body!.getReader();
  return new Response(passedThrough(reader, [], call, () => {}), { status, statusText, headers });
}

/**
 * Returns the response with its complete body split into pieces, so that Deno does not report its end while most of it
 * is unsent. The body breaks off when `call` is cut.
 */
export function inPieces(response: Response, whole: string | Uint8Array, call: Call): Response {
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  const bytes = typeof whole === "string" ? new TextEncoder().encode(whole) : whole;
  headers.set("content-length", String(bytes.length));
  let at = 0;
  const read = (): Read =>
    Promise.resolve(at < bytes.length ? { done: false, value: bytes.subarray(at, at += PIECE) } : { done: true });
  const body = passedThrough({ read, cancel: () => Promise.resolve() }, [], call, () => {});
  return new Response(body, { status, statusText, headers });
}

/** A read of a body. The platforms' own types for it differ. */
type Read = Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;

/** Returns the body if it is known at once to consist of at most one piece. The results read so far are in `reads`. */
async function complete(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  reads: Read[],
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const first = await early(reader, reads);
  if (first === undefined || first.done) return first && new Uint8Array();
  const second = await early(reader, reads);
  return second?.done ? first.value as Uint8Array<ArrayBuffer> : undefined;
}

/** Returns one read if it needs no wait. */
async function early(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  reads: Read[],
): Promise<Awaited<Read> | undefined> {
  const read: Read = reader.read();
  let result: Awaited<Read> | undefined;
  read.then((value) => result = value, () => {});
  reads.push(read);
  for (let turn = 0; turn < TURNS && result === undefined; turn++) await null;
  return result;
}

/** Passes the body on, and reads ahead of the server only by `reads`. */
function passedThrough(
  reader: { read(): Read; cancel(reason: unknown): Promise<void> },
  reads: Read[],
  call: Call,
  ended: () => void,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      call.onCut = () => {
        const reason = new DOMException("Cannot send response: shutdown was forced", "AbortError");
        controller.error(reason);
        reader.cancel(reason).catch(() => {});
      };
    },
    async pull(controller) {
      try {
        const { done, value } = await (reads.shift() ?? reader.read());
        if (!done) return controller.enqueue(value!);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      ended();
    },
    cancel(reason) {
      ended();
      return reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}
