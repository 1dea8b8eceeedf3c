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
 * Turns of the microtask queue within which a complete body can be read. Text and bytes need 2, Deno's FormData needs
 * 11. Node reads a Blob in the background, so its Blob counts as a stream.
 */
const TURNS = 12;

/**
 * Returns a copy of `response` that ends `call` once its body was read to the end, was cancelled or failed. Cutting
 * `call` breaks the body off.
 */
export async function withBodyEnd(response: Response, call: Call): Promise<Response> {
  const { status, statusText } = response;
  // Bun derives the content type from the body only while the body has not been touched.
  const headers = new Headers(response.headers);
  const { body } = response;
  // The server reports an error for a body that was already read.
  if (body === null || response.bodyUsed || body.locked) {
    call.end();
    return response;
  }
  const reader: Reader = body.getReader();
  const reads: Read[] = [reader.read(), reader.read()];
  const whole = await wholeOf(reads);
  if (whole !== undefined) call.end();
  const newBody = whole ?? passThrough(reader, reads, call, () => call.end());
  return new Response(newBody, { status, statusText, headers });
}

/**
 * Returns the response with these headers and the body that `reader` reads, which breaks off when `call` is cut. For
 * Deno, whose server cannot close connections by force once it has stopped listening.
 */
export function withCut({ status, statusText }: Response, headers: Headers, reader: Reader, call: Call): Response {
  return new Response(passThrough(reader, [], call, () => {}), { status, statusText, headers });
}

/** A read of a body. The platforms' own types for it differ. */
type Read = Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;

/** The used part of a body's reader. */
interface Reader {
  read(): Read;
  cancel(reason: unknown): Promise<void>;
}

/** Returns the body if its first two reads show at once that it has at most one piece. */
async function wholeOf(reads: readonly Read[]): Promise<Uint8Array<ArrayBuffer> | undefined> {
  let whole: Uint8Array | undefined;
  Promise.all(reads).then(([first, second]) => {
    if (second!.done) whole = first!.value ?? new Uint8Array();
  }, () => {});
  for (let turn = 0; turn < TURNS && whole === undefined; turn++) await null;
  return whole as Uint8Array<ArrayBuffer> | undefined;
}

/** Passes the body on, and reads ahead of the server only by `reads`. */
function passThrough(reader: Reader, reads: Read[], call: Call, onEnd: () => void): ReadableStream<Uint8Array> {
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
      onEnd();
    },
    cancel(reason) {
      onEnd();
      return reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}
