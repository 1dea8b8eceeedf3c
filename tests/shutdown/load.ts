/**
 * A load generator: many keep-alive connections, each sending one request after the other until the server is gone, and
 * checking every answer byte for byte.
 *
 *     load.ts PORT SEED CONNECTIONS
 */
import { createHash } from "node:crypto";
import http from "node:http";
import process from "node:process";
import { quickBody, slowBody, streamPiece } from "../../examples/graceful/service.ts";
import { seeded } from "./seeded.ts";

/** What became of the requests. */
export interface Tally {
  /** Answered whole, by id. */
  whole: string[];
  /** 503 with all that belongs to it. */
  refused: number;
  /** The connection was refused. */
  noConnection: number;
  /** A new connection was closed by the system before the server had it, with no byte of answer. */
  closedNew: number;
  /** A kept connection was closed before any byte of answer: a client may send the request again (RFC 9112, 9.3.1). */
  closedKept: number;
  /** Anything else: what was wrong, by id. */
  wrong: Record<string, string>;
  /** ms that the longest whole answer took. */
  longest: number;
}

interface Job {
  path: string;
  body?: Uint8Array;
  expected: string;
}

const REFUSAL = "The server is shutting down.\n";

function jobOf(id: string, random: () => number): Job {
  const kind = random();
  const ms = 20 + Math.floor(random() * 380);
  if (kind < 0.45) return { path: `/quick?id=${id}`, expected: quickBody(id, 0) };
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

/** Sends one; resolves to whether the server is still there. */
function send(tally: Tally, agent: http.Agent, port: number, id: string, job: Job): Promise<boolean> {
  const begun = performance.now();
  return new Promise((resolve) => {
    const method = job.body === undefined ? "GET" : "POST";
    let answer: http.IncomingMessage | undefined;
    let text = "";
    const request = http.request({ agent, host: "127.0.0.1", port, path: job.path, method }, (response) => {
      answer = response;
      response.setEncoding("utf8").on("data", (piece) => text += piece);
      response.on("end", () => resolve(judge(tally, id, job, response, text, performance.now() - begun)));
      response.on("error", () => resolve(wrong(tally, id, `cut off after ${text.length} of ${job.expected.length}`)));
    });
    request.on("error", (error: Error & { code?: string }) => {
      // What comes after an answer is the fate of an upload that nobody wanted.
      if (answer === undefined) resolve(unanswered(tally, id, error, request.reusedSocket));
    });
    request.end(job.body);
  });
}

function judge(
  tally: Tally,
  id: string,
  job: Job,
  { statusCode, headers }: http.IncomingMessage,
  text: string,
  took: number,
): boolean {
  if (statusCode === 200 && text === job.expected) {
    tally.whole.push(id);
    tally.longest = Math.max(tally.longest, took);
    return true;
  }
  // Deno adds a "close" of its own to the answer that ends an upload.
  const closes = headers.connection?.toLowerCase().split(/, */).every((token) => token === "close") ?? false;
  const polite = closes && headers["retry-after"] === "1" && text === REFUSAL;
  if (statusCode !== 503 || !polite) return wrong(tally, id, `${statusCode} ${JSON.stringify(text.slice(0, 80))}`);
  tally.refused++;
  return true;
}

function unanswered(tally: Tally, id: string, error: Error & { code?: string }, kept: boolean): boolean {
  if (error.code === "ECONNREFUSED") {
    tally.noConnection++;
    return false;
  }
  if (error.code !== "ECONNRESET" && error.code !== "EPIPE") return wrong(tally, id, String(error));
  if (kept) tally.closedKept++;
  else tally.closedNew++;
  return true;
}

function wrong(tally: Tally, id: string, what: string): boolean {
  tally.wrong[id] = what;
  return true;
}

async function client(tally: Tally, port: number, name: number, random: () => number): Promise<void> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  for (let i = 0;; i++) {
    const refused = tally.refused;
    const id = `${name}-${i}`;
    if (!await send(tally, agent, port, id, jobOf(id, random))) break;
    // Who was refused comes back, but not at once.
    if (tally.refused !== refused) await new Promise((resolve) => setTimeout(resolve, 20 + random() * 60));
  }
  agent.destroy();
}

const [port, seed, connections] = process.argv.slice(2).map(Number) as [number, number, number];
const tally: Tally = { whole: [], refused: 0, noConnection: 0, closedNew: 0, closedKept: 0, wrong: {}, longest: 0 };
const random = seeded(seed);
await Promise.all(Array.from({ length: connections }, (_, name) => client(tally, port, name, random)));
console.log(JSON.stringify(tally));
