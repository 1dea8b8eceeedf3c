/**
 * A small service: a quick route, a slow one, a streaming one, an upload, readiness, and a page that shows every
 * request in flight. It is a fetch-style handler; the three servers next to this folder run it.
 */
import type { GracefulShutdown } from "../../mod.ts";
import { events } from "./events.ts";
import { PAGE } from "./page.ts";
import { visit, type Visits } from "./visitors.ts";

type Route = (query: URLSearchParams, request: Request) => Response | Promise<Response>;

/**
 * Makes the service. Only `/ready`, the page and its button need the shutdown.
 *
 * @param portOf Returns the port that the server listens on. A request's Host header is the client's to choose.
 */
export function service(shutdown: GracefulShutdown, portOf: () => number): (request: Request) => Promise<Response> {
  const visits: Visits = { waiting: 0, answered: 0, refused: 0, lost: 0 };
  const routes: Record<string, Route> = {
    "GET /": () => new Response(PAGE, { headers: { "content-type": "text/html; charset=utf-8" } }),
    "GET /ready": () => text(shutdown.ready ? "ready\n" : "shutting down\n", shutdown.ready ? 200 : 503),
    "GET /quick": (query) => text(quickBody(query.get("id") ?? "you", count(query, "bytes", 0, 1e6))),
    "GET /slow": slow,
    "GET /stream": stream,
    "POST /upload": upload,
    "GET /events": events(shutdown, visits),
    "POST /visitors": (query, request) => {
      if (isForeign(request)) return text(FOREIGN, 403);
      visit(portOf(), count(query, "count", 50, 100), visits);
      return text("they are coming\n", 202);
    },
    "POST /shutdown": (_, request) => {
      if (isForeign(request)) return text(FOREIGN, 403);
      shutdown.request("the page asked for it");
      return text("shutting down\n", 202);
    },
  };
  return async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    const route = routes[`${request.method === "HEAD" ? "GET" : request.method} ${pathname}`];
    if (route === undefined) return text(`No such route; there are ${Object.keys(routes).join(", ")}\n`, 404);
    try {
      return await route(searchParams, request);
    } catch (error) {
      if (error instanceof RangeError) return text(`${error.message}\n`, 400);
      throw error;
    }
  };
}

const FOREIGN = "Only a page of this server may do that\n";

/**
 * Whether a page of another site sent this request. A browser lets the page send it, though not read the response, and
 * states its origin; a program such as curl states none. A host name that another site points to this machine looks
 * like a name of this machine, so only addresses and localhost count.
 */
function isForeign(request: Request): boolean {
  const { origin, hostname } = new URL(request.url);
  const from = request.headers.get("origin");
  return (from !== null && from !== origin) || !/^(localhost|[\d.]+|\[[\da-f:.]+\])$/.test(hostname);
}

/** The response of `/quick`. */
export function quickBody(id: string, bytes: number): string {
  return `hello ${id}\n`.padEnd(bytes, `${id} `);
}

/** The response of `/slow`. */
export function slowBody(id: string, ms: number): string {
  return `${id} waited ${ms} ms\n`;
}

/** One piece of the response of `/stream`. */
export function streamPiece(id: string, i: number, chunks: number): string {
  return `${id} ${i + 1}/${chunks}\n`;
}

async function slow(query: URLSearchParams): Promise<Response> {
  const ms = count(query, "ms", 2000, 60_000);
  await pause(ms);
  return text(slowBody(query.get("id") ?? "you", ms));
}

function stream(query: URLSearchParams): Response {
  const chunks = count(query, "chunks", 20, 1000);
  const ms = count(query, "ms", 200, 10_000);
  let i = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (i === chunks) return controller.close();
      await pause(ms);
      controller.enqueue(new TextEncoder().encode(streamPiece(query.get("id") ?? "you", i++, chunks)));
    },
  });
  return new Response(body, { headers: { "content-type": "text/plain; charset=utf-8" } });
}

async function upload(_: URLSearchParams, request: Request): Promise<Response> {
  const bytes = await request.arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return Response.json({ bytes: bytes.byteLength, sha256 });
}

function count(query: URLSearchParams, name: string, otherwise: number, max: number): number {
  const value = Number(query.get(name) ?? otherwise);
  if (Number.isInteger(value) && value >= 0 && value <= max) return value;
  throw new RangeError(`${name} must be a whole number from 0 to ${max}, got ${JSON.stringify(query.get(name))}`);
}

function text(body: string, status = 200): Response {
  return new Response(body, { status, headers: { "content-type": "text/plain; charset=utf-8" } });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
