/** The requests of the load, and the answers that they have to get. */
import { createHash } from "node:crypto";
import { quickBody, slowBody, streamPiece } from "../../examples/graceful/service.ts";

/** One request. */
export interface Job {
  path: string;
  /** Makes it a POST. */
  body?: Uint8Array;
  expected: string;
  /** Whether only the end of the answer is expected: the pieces before it show the moment. */
  isLive?: boolean;
}

/**
 * Which routes are asked: those of examples/graceful, only the quickest of them, each on a connection of its own, or the one
 * route of every server in examples/frameworks, or those of examples/graceful with server-sent events on three connections
 * and only the quickest on every second one.
 */
export type Routes = "service" | "quick" | "wait" | "restart";

/** Connections that receive server-sent events, with the routes "restart". */
const LIVE = 3;

/** A random request. None takes longer than 400 ms, but for server-sent events, which end with the server. */
export function jobOf(routes: Routes, id: string, random: () => number): Job {
  if (routes === "restart" && Number.parseInt(id) < LIVE) {
    return { path: `/events?id=${id}`, expected: "event: drained\ndata: {}\n\n", isLive: true };
  }
  const kind = routes === "restart" && Number.parseInt(id) % 2 === 0 ? 0 : random();
  const ms = 20 + Math.floor(random() * 380);
  if (routes === "wait") return kind < 0.5 ? wait(0) : wait(ms);
  if (kind < 0.45 || routes === "quick") return { path: `/quick?id=${id}`, expected: quickBody(id, 0) };
  if (kind < 0.6) return { path: `/quick?id=${id}&bytes=60000`, expected: quickBody(id, 60_000) };
  if (kind < 0.8) return { path: `/slow?id=${id}&ms=${ms}`, expected: slowBody(id, ms) };
  if (kind < 0.92) {
    const expected = Array.from({ length: 8 }, (_, i) => streamPiece(id, i, 8)).join("");
    return { path: `/stream?id=${id}&chunks=8&ms=${Math.ceil(ms / 8)}`, expected };
  }
  const body = new Uint8Array(10_000 + ms * 500).fill(ms);
  const sha256 = createHash("sha256").update(body).digest("hex");
  return { path: `/upload?id=${id}`, body, expected: JSON.stringify({ bytes: body.length, sha256 }) };
}

function wait(ms: number): Job {
  return { path: `/wait/${ms}`, expected: `waited ${ms} ms\n` };
}
