/**
 * Runs a fetch-style handler on node:http or node:http2. Frameworks bring their own; this is the least that streams both
 * ways.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** Makes a listener for `http.createServer`, and with a cast for `http2.createServer`. */
export function nodeListener(
  handler: (request: Request) => Promise<Response>,
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  return async (incoming, outgoing) => {
    try {
      const response = await handler(toRequest(incoming));
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      if (response.body === null || incoming.method === "HEAD") return void outgoing.end();
      await pipeline(Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]), outgoing);
    } catch (error) {
      if ((error as { code?: string }).code === "ERR_STREAM_PREMATURE_CLOSE") return; // the client went away
      console.error(error);
      outgoing.destroy();
    }
  };
}

function toRequest(incoming: IncomingMessage): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (!name.startsWith(":")) headers.set(name, String(value)); // those of HTTP/2 are no headers of a Request
  }
  const hasBody = incoming.method !== "GET" && incoming.method !== "HEAD";
  const init = { method: incoming.method ?? "GET", headers, duplex: "half" };
  const host = incoming.headers[":authority"] ?? incoming.headers.host ?? "localhost";
  return new Request(`http://${host}${incoming.url}`, {
    ...init,
    ...(hasBody ? { body: Readable.toWeb(incoming) as unknown as BodyInit } : {}),
  });
}
