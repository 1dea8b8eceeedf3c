/**
 * A fetch handler that counts its requests. Invariant: a request is in flight from the call until its answer was sent *and*
 * its handler has ended, whichever comes last.
 *
 * @module
 */
import { must } from "../../internal/check.ts";
import { isDenoInfo, type ResponseTracker } from "./response_tracker.ts";
import { type InFlight, REFUSAL, requestLabel, type ShutdownState } from "../shutdown_state.ts";
import { trackUpload } from "./uploads.ts";

/** A handler as Deno.serve, Bun.serve and fetch-style frameworks take it. */
export type FetchHandler<A extends unknown[], R> = (request: Request, ...rest: A) => R | PromiseLike<R>;

/** How {@linkcode GracefulShutdown.handler} treats requests. */
export interface HandlerOptions {
  /** Names a request in {@linkcode ShutdownReport.remaining}. Default: method and path. */
  readonly label?: ((request: Request) => string) | undefined;
}

/** An app of node:http is no fetch handler, though it may be a function. */
export function checkFetchHandler(value: unknown): void {
  const { fetch, listen } = Object(value) as Record<string, unknown>;
  const hasListen = typeof listen === "function";
  let rule = "be a function";
  if (typeof fetch === "function") rule += " (pass its fetch)";
  else if (hasListen) rule += " (attach the server that app.listen returns)";
  must(typeof value === "function" && !hasListen, "fetchHandler", rule, value);
}

/** Makes a counting handler out of `fn`. */
export function countingHandler<A extends unknown[], R>(
  state: ShutdownState,
  tracker: ResponseTracker,
  fn: FetchHandler<A, R>,
  label: ((request: Request) => string) | undefined,
): (request: Request, ...rest: A) => Promise<R | Response> {
  return async function (this: unknown, request, ...rest) {
    const { dispatching } = state;
    if (dispatching !== undefined) {
      // An attached server of node:http counts it.
      if (label !== undefined) dispatching.label = requestLabel(request, label);
      return await fn.call(this, request, ...rest);
    }
    if (state.refuses) return refusal(state);
    state.handled.add();
    const [info] = rest;
    if (isDenoInfo(info)) trackUpload(state.uploads, request, info.completed);
    const entry: InFlight = { label: requestLabel(request, label) };
    state.inFlight.add(entry);
    let answeredAt = -Infinity;
    const ended = () => {
      state.keptAliveAt = Math.max(state.keptAliveAt, answeredAt);
      state.inFlight.delete(entry);
      state.keepingAlive.delete(entry);
    };
    let answer: R | Response | undefined;
    try {
      answer = await untilCut(state, entry, async () => await fn.call(this, request, ...rest));
      if (state.phase === "serving") {
        answeredAt = performance.now();
        state.keepingAlive.add(entry);
      } else answer = closing(answer);
    } catch (error) {
      await tracker.watch(request, undefined, info, entry, ended);
      throw error;
    }
    return await tracker.watch(request, answer, info, entry, ended);
  };
}

/** The answer to a refused request. */
function refusal(state: ShutdownState): Response {
  const headers = { "connection": "close", "retry-after": state.retryAfter, "content-type": "text/plain" };
  return new Response(REFUSAL, { status: 503, headers });
}

/** The handler's answer, or a refusal if it is cut before it has one. */
function untilCut<R>(state: ShutdownState, entry: InFlight, call: () => Promise<R>): Promise<R | Response> {
  return new Promise((resolve, reject) => {
    let cut = false;
    entry.cut = () => {
      cut = true;
      resolve(refusal(state));
    };
    call().then((answer) => {
      // It has no reader any more.
      if (cut && answer instanceof Response) answer.body?.cancel().catch(() => {});
      resolve(answer);
    }, reject);
  });
}

/** The same answer with `Connection: close`. */
function closing<R>(answer: R): R | Response {
  if (!(answer instanceof Response) || answer.status < 200) return answer;
  try {
    answer.headers.set("connection", "close");
    return answer;
  } catch {
    // The headers of a redirect, or of a response that fetch() returned, are immutable.
    const copy = new Response(answer.body, answer);
    copy.headers.set("connection", "close");
    return copy;
  }
}
