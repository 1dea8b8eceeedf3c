/**
 * A load generator: many keep-alive connections, each sending one request after the other and checking every answer byte
 * for byte, until the server is gone, or with `--keep-up` until stdin is closed. Prints "begun" once it is under way,
 * and a Tally.
 *
 *     load.ts --port N [--seed N] [--connections N] [--routes service|quick|wait|restart] [--keep-up] [--http2] [--split]
 *
 * With --split, every fifth client sends the heads of its requests in two pieces, up to 300 ms apart.
 */
import http from "node:http";
import { connect, type Socket } from "node:net";
import process from "node:process";
import { parseArgs } from "node:util";
import { Random } from "../_random.ts";
import { type Job, jobOf, type Routes } from "./jobs.ts";
import { Http2Client } from "./load_http2.ts";

/** The outcome of all requests. */
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
  /** Anything else: the defect, by id. */
  wrong: Record<string, string>;
  /** How often each failure was seen, by method and status or error code: "POST 503", "GET ECONNRESET". */
  failures: Record<string, number>;
  /** ms that a whole answer took at most beyond its own time, with the routes `wait`: how slow the machine is. */
  lateness: number;
}

/**
 * A request that waited longer than this, in ms, was read by the server, even if its connection closed unanswered; on a slow
 * machine than twice the lateness of the answers.
 */
const READ_WITHIN = 150;
/** A request that waited as long, in ms, never gets an answer. */
const NEVER = 30_000;
const REFUSAL = "The server is shutting down.\n";

const { values } = parseArgs({
  options: {
    "port": { type: "string" },
    "seed": { type: "string", default: "1" },
    "connections": { type: "string", default: "50" },
    "routes": { type: "string", default: "service" },
    "keep-up": { type: "boolean", default: false },
    "http2": { type: "boolean", default: false },
    "split": { type: "boolean", default: false },
  },
});
const [port, seed, connections] = [values.port, values.seed, values.connections].map(Number) as [
  number,
  number,
  number,
];
const routes = values.routes as Routes;

const tally: Tally = {
  whole: [],
  refused: 0,
  noConnection: 0,
  closedNew: 0,
  closedKept: 0,
  wrong: {},
  failures: {},
  lateness: 0,
};
const source = new Random(seed);
const random = () => source.below(1e6) / 1e6;
let begun = false;
let stopped = false;
if (values["keep-up"]) process.stdin.on("end", () => stopped = true).resume();

/** "gone": no process listens there. */
type Result = "answered" | "failed" | "gone";

/** Sends one request. */
function send(agent: http.Agent, id: string, job: Job): Promise<Result> {
  const begun = performance.now();
  return new Promise((resolve) => {
    const method = job.body === undefined ? "GET" : "POST";
    let answer: http.IncomingMessage | undefined;
    let text = "";
    const request = http.request({ agent, host: "127.0.0.1", port, path: job.path, method }, (response) => {
      answer = response;
      response.setEncoding("utf8").on("data", (piece) => text += piece);
      response.on("end", () => resolve(judge(id, method, job, response, text, performance.now() - begun)));
      response.on("error", () => {
        count(method, "cut off");
        resolve(wrong(id, `cut off after ${text.length} of ${job.expected.length}`));
      });
    });
    if (!job.isLive) request.setTimeout(NEVER, () => request.destroy(new Error(`no answer after ${NEVER} ms`)));
    request.on("error", (error: Error & { code?: string }) => {
      // An error after the answer concerns only the rest of a refused upload.
      if (answer !== undefined) return;
      count(method, error.code ?? error.name);
      resolve(unanswered(id, error, request.reusedSocket, performance.now() - begun));
    });
    request.end(job.body);
  });
}

/** The same on HTTP/2. */
async function sendHttp2(client: Http2Client, id: string, job: Job): Promise<Result> {
  const begun = performance.now();
  const method = job.body === undefined ? "GET" : "POST";
  const { headers, text, error, reused } = await client.send(job.path, job.body);
  if (headers === undefined) {
    const { code = "ECONNRESET" } = error!;
    count(method, code);
    const known = code === "ECONNREFUSED" ? code : "ECONNRESET"; // a stream has codes of its own
    return unanswered(id, Object.assign(error!, { code: known }), reused, performance.now() - begun);
  }
  if (error === undefined) {
    return judge(id, method, job, { statusCode: headers[":status"], headers }, text, performance.now() - begun);
  }
  count(method, "cut off");
  return wrong(id, `cut off after ${text.length} of ${job.expected.length}`);
}

function judge(
  id: string,
  method: string,
  job: Job,
  { statusCode, headers }: Pick<http.IncomingMessage, "statusCode" | "headers">,
  text: string,
  took: number,
): Result {
  if (statusCode === 200 && (job.isLive ? text.endsWith(job.expected) : text === job.expected)) {
    tally.whole.push(id);
    const own = Number(/^\/wait\/(\d+)/.exec(job.path)?.[1] ?? took);
    tally.lateness = Math.max(tally.lateness, took - own);
    return "answered";
  }
  count(method, statusCode === 200 ? "wrong body" : String(statusCode));
  // Deno adds a "close" of its own to the answer that ends an upload.
  const closes = headers.connection?.toLowerCase().split(/, */).every((token) => token === "close") ?? false;
  const polite = closes && headers["retry-after"] === "1" && text === REFUSAL;
  if (statusCode !== 503 || !polite) return wrong(id, `${statusCode} ${JSON.stringify(text.slice(0, 80))}`);
  tally.refused++;
  return "failed";
}

function unanswered(id: string, error: Error & { code?: string }, kept: boolean, took: number): Result {
  if (error.code === "ECONNREFUSED") {
    tally.noConnection++;
    return "gone";
  }
  if (error.code !== "ECONNRESET" && error.code !== "EPIPE") return wrong(id, String(error));
  // The service writes down which requests it has read; the frameworks' servers do not.
  if (routes === "wait" && took > Math.max(READ_WITHIN, 2 * tally.lateness)) {
    return wrong(id, `no answer after ${Math.round(took)} ms`);
  }
  if (kept) tally.closedKept++;
  else tally.closedNew++;
  return "failed";
}

function wrong(id: string, what: string): Result {
  tally.wrong[id] = what;
  return "failed";
}

function count(method: string, what: string): void {
  tally.failures[`${method} ${what}`] = (tally.failures[`${method} ${what}`] ?? 0) + 1;
}

/** Makes a connection send the heads of its requests in two pieces. */
function split(socket: Socket): Socket {
  const write = socket._write.bind(socket);
  Object.assign(socket, { _writev: null });
  socket._write = (chunk, encoding, done) => {
    if (!/^(GET|POST) /.test(String(chunk.slice(0, 5)))) return write(chunk, encoding, done);
    const rest = () => write(chunk.slice(20), encoding, done);
    write(chunk.slice(0, 20), encoding, (error) => error ? done(error) : void setTimeout(rest, random() * 300));
  };
  return socket;
}

class SplittingAgent extends http.Agent {
  override createConnection(options: http.ClientRequestArgs): Socket {
    return split(connect({ port: Number(options.port), host: "127.0.0.1" }));
  }
}

async function client(name: number): Promise<void> {
  const Agent = values.split && name % 5 === 4 ? SplittingAgent : http.Agent;
  const agent = new Agent({ keepAlive: routes !== "quick", maxSockets: 1 });
  const http2 = values.http2 ? new Http2Client(port) : undefined;
  for (let i = 0; !stopped; i++) {
    const id = `${name}-${i}`;
    const job = jobOf(routes, id, random);
    const result = await (http2 === undefined ? send(agent, id, job) : sendHttp2(http2, id, job));
    if (!begun && tally.whole.length >= connections / 2) {
      begun = true;
      console.log("begun");
    }
    if (result === "gone" && !values["keep-up"]) break;
    if (result !== "answered") await new Promise((resolve) => setTimeout(resolve, 20 + random() * 60));
  }
  agent.destroy();
  http2?.close();
}

await Promise.all(Array.from({ length: connections }, (_, name) => client(name)));
console.log(JSON.stringify(tally));
