/**
 * The fetch side of GracefulShutdown: a handler that counts its requests.
 *
 * A request is counted from its call until its answer was sent *and* its handler has ended, whichever comes last.
 *
 * @module
 */
import type { AnswerEnds } from "./response_tracker.ts";
import { type Desk, type Entry, REFUSAL, requestLabel } from "../shutdown_state.ts";

/** A handler as Deno.serve, Bun.serve and fetch-style frameworks take it. */
export type FetchHandler<A extends unknown[], R> = (request: Request, ...rest: A) => R | PromiseLike<R>;

/** How {@linkcode GracefulShutdown.handler} treats requests. */
export interface HandlerOptions {
  /** How a request is called in {@linkcode ShutdownReport.remaining}; method and path unless said. */
  readonly label?: ((request: Request) => string) | undefined;
}

/** Makes a counting handler out of `fn`. */
export function countingHandler<A extends unknown[], R>(
  desk: Desk,
  ends: AnswerEnds,
  fn: FetchHandler<A, R>,
  label: ((request: Request) => string) | undefined,
): (request: Request, ...rest: A) => Promise<R | Response> {
  return async function (this: unknown, request, ...rest) {
    if (desk.refuses) return refusal(desk);
    const entry: Entry = { label: requestLabel(request, label) };
    desk.inFlight.add(entry);
    let answer: R | Response | undefined;
    // Set by the time that the answer ends: whether its connection may live.
    let keepsAlive = true;
    const ended = () => {
      if (keepsAlive) desk.keptAliveAt = performance.now();
      desk.inFlight.delete(entry);
    };
    try {
      answer = await untilCut(desk, entry, async () => await fn.call(this, request, ...rest));
      keepsAlive = desk.phase === "serving";
      if (!keepsAlive) answer = closing(answer);
    } catch (error) {
      await ends.watch(request, undefined, rest[0], entry, ended);
      throw error;
    }
    return await ends.watch(request, answer, rest[0], entry, ended);
  };
}

/** What newcomers get. */
function refusal(desk: Desk): Response {
  const headers = { "connection": "close", "retry-after": desk.retryAfter, "content-type": "text/plain" };
  return new Response(REFUSAL, { status: 503, headers });
}

/** The handler's answer, or a refusal if it is cut before it has one. */
function untilCut<R>(desk: Desk, entry: Entry, call: () => Promise<R>): Promise<R | Response> {
  return new Promise((resolve, reject) => {
    let cut = false;
    entry.cut = () => {
      cut = true;
      resolve(refusal(desk));
    };
    call().then((answer) => {
      // Nobody will read it.
      if (cut && answer instanceof Response) answer.body?.cancel().catch(() => {});
      resolve(answer);
    }, reject);
  });
}

/** The same answer, telling the client to close its connection. */
function closing<R>(answer: R): R | Response {
  if (!(answer instanceof Response) || answer.status < 200) return answer;
  try {
    answer.headers.set("connection", "close");
    return answer;
  } catch {
    // The headers of a redirect, or of what fetch() returned, cannot be changed.
    const copy = new Response(answer.body, answer);
    copy.headers.set("connection", "close");
    return copy;
  }
}
