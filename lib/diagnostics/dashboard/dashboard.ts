/**
 * A live page about everything that waits and holds, as a fetch handler.
 *
 * @module
 */
import { must } from "../../internal/check.ts";
import { findDeadlocks } from "../deadlock.ts";
import { type Finding, stuck } from "../finding.ts";
import { hub } from "../hub.ts";
import { page } from "./page.ts";
import { Tracks } from "./tracks.ts";
import { PartStream, Rate } from "./part_stream.ts";
import { render } from "./view.ts";

/** The handler that {@linkcode dashboard} returns. It stops observing when it is disposed of. */
export interface Dashboard extends Disposable {
  /**
   * Answers a request for the page or for its stream of updates, under any path.
   *
   * @throws {TypeError} if it gets something else, such as the request of a server of node:http.
   */
  (request: Request): Response;
}

/** How long a wait lasts before it may be shown as part of a deadlock, in ms. */
const STUCK_AFTER = 1_000;

/**
 * Returns a fetch handler with a live page: all things by waiting time, the holders and waiters of each over the last
 * half minute, histograms of waiting and holding, and deadlocks between calls of `run`. It works under any path:
 * `Deno.serve(dashboard())`, `Bun.serve({ fetch: dashboard() })`, or `app.get("/locks", (c) => show(c.req.raw))` in Hono
 * with `const show = dashboard()`. Call it once, when the program starts: it shows what began since.
 *
 * The page reads only, and shows names, keys and source files: put it behind authentication. Short waits and holds are
 * sampled when there are many, and the page says so. Files and lines appear while a {@linkcode watchdog} is on.
 *
 * @example
 * ```ts
 * import { dashboard } from "@interlock/interlock/diagnostics";
 *
 * using show = dashboard();
 * const response = show(new Request("http://localhost/locks"));
 * console.log(response.status, response.headers.get("content-type")); // 200 text/html; charset=utf-8
 * ```
 */
export function dashboard(): Dashboard {
  const tracks = new Tracks();
  const listening = hub.listen(tracks);
  const rate = new Rate(() => tracks.events);
  const streams = new Set<Disposable>();
  const handle = (request: Request): Response => {
    checkRequest(request);
    if (request.method !== "GET" && request.method !== "HEAD") {
      return new Response("Only GET is allowed here.\n", { status: 405, headers: { allow: "GET, HEAD" } });
    }
    const { searchParams } = new URL(request.url);
    if (!searchParams.has("events")) return htmlResponse(request.method === "HEAD");
    const width = Math.min(Math.max(280, Number(searchParams.get("width")) || 800), 2000);
    const options = { selected: searchParams.get("thing") ?? "", width };
    const stream = new PartStream(() => render(tracks, deadlocks(), rate.perSecond, options), streams);
    const headers = { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" };
    return new Response(new ReadableStream(stream), { headers });
  };
  return Object.assign(handle, {
    [Symbol.dispose]() {
      listening[Symbol.dispose]();
      for (const stream of streams) stream[Symbol.dispose]();
    },
  });
}

/** Frameworks pass requests of their own, and node:http passes one without the whole URL. */
function checkRequest(request: Request): void {
  const isRequest = /^https?:/.test(String(Object(request).url));
  const rule = "be a Request of the fetch standard (a server of node:http needs an adapter, such as @hono/node-server)";
  must(isRequest, "request", rule, request);
}

function deadlocks(): Finding[] {
  const now = performance.now();
  return findDeadlocks(hub.groups, (call) => hub.entryOf(call), now - STUCK_AFTER).map((one) => stuck(one, now));
}

function htmlResponse(isHead: boolean): Response {
  const nonce = crypto.randomUUID();
  return new Response(isHead ? null : page(nonce), {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy": `default-src 'none'; connect-src 'self'; img-src data:; style-src 'unsafe-inline'; ` +
        `script-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'`,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    },
  });
}
