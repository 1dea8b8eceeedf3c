/**
 * Uploads on Deno, whose server breaks those that are still coming in when it stops listening. Invariant: a request with a
 * body is in `uploads` until its body has been read, or its answer sent.
 *
 * @module
 */
import type { SetEvent } from "../../set_event.ts";

const READERS = ["arrayBuffer", "blob", "bytes", "formData", "json", "text"] as const;

/** Adds `request` to `uploads` if it has a body. */
export function trackUpload(uploads: SetEvent<Request>, request: Request, completed: Promise<void>): void {
  if (request.method === "GET" || request.method === "HEAD" || request.headers.get("content-length") === "0") return;
  uploads.add(request);
  const done = () => void uploads.delete(request);
  completed.then(done, done);
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
