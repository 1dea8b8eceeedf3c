/**
 * Answers that notify of the end of their body, and answers that can be cut.
 *
 * A body that is complete already, in one piece, is passed on as a piece, so that the server can send its length; any other
 * one passes through a stream that reads only when it is read from.
 *
 * @module
 */
import type { Call } from "./calls.ts";

/**
 * Turns of the microtask queue within which a complete body can be read. Text and bytes need 1, Deno's Blob 4; Node reads a
 * Blob in the background, so there it counts as a stream.
 */
const TURNS = 8;

/** In bytes. The end of a body of one piece is reported when the system has it, or nearly so. */
export const PIECE = 65_536;

/**
 * Returns an answer like `response`; calls `ended` once its body was read to the end, was cancelled, or failed. Cutting
 * `call` breaks the body off.
 */
export async function withBodyEnd(response: Response, call: Call, ended: () => void): Promise<Response> {
  const { status, statusText } = response;
  // Bun derives the content type from the body only as long as that has not been read.
  const headers = new Headers(response.headers);
  const body = response.body;
  // A body that was read already is an error that the server reports.
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
 * The same answer, whose body breaks off when `call` is cut. For Deno, whose server cannot close connections by force once
 * it has stopped listening.
 */
export function withCut(response: Response, call: Call): Response {
  const { status, statusText, headers } = response;
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body!.getReader();
  return new Response(passedThrough(reader, [], call, () => {}), { status, statusText, headers });
}

/**
 * The same answer, whose body, known as a whole, is sent in pieces, so that Deno does not report the end of it while most of
 * it is still on its way. It breaks off when `call` is cut.
 */
export function inPieces(response: Response, whole: string | Uint8Array, call: Call): Response {
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  const bytes = typeof whole === "string" ? new TextEncoder().encode(whole) : whole;
  headers.set("content-length", String(bytes.length));
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      call.onCut = () => controller.error(cutReason());
    },
    pull(controller) {
      controller.enqueue(bytes.subarray(at, at += PIECE));
      if (at >= bytes.length) controller.close();
    },
  }, { highWaterMark: 0 });
  return new Response(body, { status, statusText, headers });
}

function cutReason(): DOMException {
  return new DOMException("Cannot send answer: shutdown was forced", "AbortError");
}

type Read = Promise<ReadableStreamReadResult<Uint8Array>>;

/** The body, if it consists of one piece or none and this is known at once. The results of reading so far are in `reads`. */
async function complete(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  reads: Read[],
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const first = await early(reader, reads);
  if (first === undefined || first.done) return first && new Uint8Array();
  const second = await early(reader, reads);
  return second?.done ? first.value as Uint8Array<ArrayBuffer> : undefined;
}

/** One read, if it needs no waiting. */
async function early(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  reads: Read[],
): Promise<ReadableStreamReadResult<Uint8Array> | undefined> {
  const read = reader.read();
  let result: ReadableStreamReadResult<Uint8Array> | undefined;
  read.then((value) => result = value, () => {});
  reads.push(read);
  for (let turn = 0; turn < TURNS && result === undefined; turn++) await null;
  return result;
}

/** Reads ahead of the server by no more than `reads`. */
function passedThrough(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  reads: Read[],
  call: Call,
  ended: () => void,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      call.onCut = () => {
        const reason = cutReason();
        controller.error(reason);
        reader.cancel(reason).catch(() => {});
      };
    },
    async pull(controller) {
      try {
        const { done, value } = await (reads.shift() ?? reader.read());
        if (!done) return controller.enqueue(value);
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
