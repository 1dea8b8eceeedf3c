/**
 * A live page about all waits and holds, as a fetch handler.
 *
 * @module
 */
import { DISPOSE } from "../internal/dispose.ts";
import { observe, watchdog } from "../diagnostics/mod.ts";
import { checkInteger, checkName, checkOptions, must, quote } from "../internal/check.ts";
import { page } from "./page.ts";
import { refuse, Streams } from "./streams.ts";
import { Tracks } from "./tracks.ts";
import { Frame } from "./view.ts";

/** Options of {@linkcode dashboard}. */
export interface DashboardOptions {
  /**
   * Host names of the page, with any port. Names of this machine (`localhost`, 127.0.0.1, [::1]) always work. Requests
   * for other hosts are refused: otherwise another site could read the page through a name that resolves to this
   * machine.
   */
  readonly hosts?: readonly string[] | undefined;
  /** Maximum number of open pages. Default: 20. */
  readonly streams?: number | undefined;
}

/** The handler returned by {@linkcode dashboard}. Disposing of it stops the observation. */
export interface Dashboard extends Disposable {
  /**
   * Responds to requests for the page and for its stream of updates, under any path.
   *
   * @throws {TypeError} when `request` is not a fetch Request, such as the request of a node:http server.
   */
  (request: Request): Response;
}

/** Minimum duration of a wait that is shown as part of a deadlock, in ms. */
const STUCK_AFTER = 1_000;

/** Host names of this machine. 127.0.0.0/8 is the loopback; browsers resolve names that end in .localhost to it. */
const LOCAL_HOST = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Returns a fetch handler with a live page: all primitives by waiting time, the holders and waiters of each over the
 * last half minute, histograms of waiting and holding, and deadlocks between calls of `run`. It works under any path:
 * `Deno.serve({ hostname: "127.0.0.1", port: 9100 }, dashboard())`, or `app.get("/locks", (c) => show(c.req.raw))` in
 * Hono with `const show = dashboard()`. Call it once, when the program starts: it shows only later waits and holds.
 *
 * The page is read-only and shows names, keys and source files: listen on 127.0.0.1, or put it behind authentication
 * and list its host name in `hosts`. If there are many short waits and holds, they are sampled, and the page says so.
 * Files and lines of callers are shown only for calls that were made while a `watchdog` was on.
 *
 * @param options Host names, and the number of open pages.
 * @throws {TypeError} when an option has a wrong type.
 * @throws {RangeError} when a host name is invalid, or the number of streams is below 1.
 *
 * @example
 * ```ts
 * import { dashboard } from "@interlock/interlock/dashboard";
 *
 * using show = dashboard();
 * const response = show(new Request("http://localhost/locks"));
 * console.log(response.status, response.headers.get("content-type")); // 200 text/html; charset=utf-8
 * ```
 */
export function dashboard(options: DashboardOptions = {}): Dashboard {
  const { hosts = [], streams: maxStreams = 20 } = checkOptions(options, "hosts");
  const isRequest = "url" in options || "req" in options; // also that of a framework
  must(!isRequest, "options", "not be a request: pass dashboard(), which returns the handler", options);
  const isKnownHost = hostCheck(hosts);
  checkInteger(maxStreams, "streams", 1);
  const tracks = new Tracks();
  const observing = observe(tracks);
  // It tracks runs for deadlocks, and takes no stack traces.
  const watching = watchdog({ waited: Infinity, held: Infinity, self: STUCK_AFTER, sites: false, report() {} });
  const streams = new Streams(maxStreams, () => new Frame(tracks, watching.findings()));
  const handle = (request: Request): Response => {
    const url = urlOf(request);
    const host = request.headers.get("host") ?? url.host;
    if (!isKnownHost(host)) return refuse(403, `${quote(host)} is not listed in the option hosts of dashboard().`);
    const isHead = request.method === "HEAD";
    if (request.method !== "GET" && !isHead) return refuse(405, "Only GET is allowed here.", { allow: "GET, HEAD" });
    return url.searchParams.has("events") ? streams.response(url.searchParams, isHead) : htmlResponse(isHead);
  };
  return Object.assign(handle, {
    [DISPOSE]() {
      for (const part of [observing, watching, streams]) part[DISPOSE]();
    },
  });
}

/** Frameworks pass requests of their own types, and the request of node:http lacks the full URL. */
function urlOf(request: Request): URL {
  const { url, headers } = Object(request) as Partial<Request>;
  const isRequest = typeof url === "string" && /^https?:/.test(url) && typeof headers?.get === "function";
  const rule = "be a Request of the fetch standard (a server of node:http needs an adapter, such as @hono/node-server)";
  must(isRequest, "request", rule, request);
  return new URL(request.url);
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

/**
 * Returns a check of a request's host, as in `example.com:8080`. Without it, another site could point its own name to
 * this machine (DNS rebinding) and read this page as its own.
 */
function hostCheck(hosts: readonly string[]): (host: string) => boolean {
  must(Array.isArray(hosts), "hosts", "be an array", hosts);
  const listed = new Set(hosts.map((host, i) => {
    checkName(host, `hosts[${i}]`);
    const name = nameOf(host);
    must(name !== undefined, `hosts[${i}]`, 'be a host name such as "locks.example.com"', host, RangeError);
    return name;
  }));
  return (host) => {
    const name = nameOf(host);
    return name !== undefined && (LOCAL_HOST.test(name) || listed.has(name));
  };
}

/** The host name in lower case, without port and final dot; undefined if `host` is invalid. */
function nameOf(host: string): string | undefined {
  // With a character that begins another part of a URL, only a part of the text would count as the host. URLs allow *.
  if (!/^[^\s/?#@\\*]+$/.test(host) || !URL.canParse(`http://${host}/`)) return undefined;
  return new URL(`http://${host}/`).hostname.replace(/\.$/, "");
}
