/**
 * A fetch handler that counts its requests. Invariant: a request is in flight from the call until its answer was sent *and*
 * its handler has ended, whichever comes last.
 *
 * @module
 */
import { isThenable, must } from "../../internal/check.ts";
import { follow } from "../../internal/follow.ts";
import { withBodyEnd } from "./body_end.ts";
import { isBunInfo } from "./bun.ts";
import { Call } from "./calls.ts";
import { isDenoInfo, sendByDeno, trackUpload } from "./deno.ts";
import { requestLabel } from "../in_flight.ts";
import { REFUSAL, type ShutdownState } from "../shutdown_state.ts";

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

/**
 * Makes a counting handler out of `fn`. Nothing is allocated on the path of a request but its call and one promise, which is
 * resolved already if the answer is there at once.
 */
export function countingHandler<A extends unknown[], R>(
  state: ShutdownState,
  fn: FetchHandler<A, R>,
  label: ((request: Request) => string) | undefined,
): (request: Request, ...rest: A) => Promise<R | Response> {
  const { calls } = state;
  state.used = calls.wrapped = true;
  return function (this: unknown, request: Request, info?: unknown): Promise<R | Response> {
    // Not a rest parameter: an array of them would be one more allocation
    const args = arguments as unknown as [Request, ...A];
    let call: Call | undefined;
    try {
      if (state.dispatching !== undefined) {
        if (label !== undefined) state.dispatching.label = requestLabel(request, label);
        return Promise.resolve(Reflect.apply(fn, this, args));
      }
      if (state.refuses) return Promise.resolve(refusal(state));
      call = new Call(calls, request, info, label);
      if (isDenoInfo(info)) trackUpload(calls, request, info);
      const answer = Reflect.apply(fn, this, args);
      if (!isThenable(answer)) return Promise.resolve(send(state, call, answer));
      return sendLater(state, call, answer);
    } catch (error) {
      if (call !== undefined) sent(call, undefined);
      return Promise.reject(error);
    }
  } as (request: Request, ...rest: unknown[]) => Promise<R | Response>;
}

/** Returns what to send for an answer. */
function send<R>(state: ShutdownState, call: Call, answer: R): R | Response | Promise<R | Response> {
  const { calls } = state;
  if (calls.held !== undefined) return calls.held.then(() => send(state, call, answer));
  if (state.announces && (calls.listening === 0 || state.hasDelay)) return sent(call, closing(answer));
  calls.keptAliveAt = call.keptAliveAt = Date.now();
  return sent(call, answer);
}

/** The same for an answer that is still to come; a refusal if it is cut before. */
function sendLater<R>(state: ShutdownState, call: Call, answer: PromiseLike<R>): Promise<R | Response> {
  return new Promise((resolve, reject) => {
    let isCut = false;
    call.onCut = () => {
      isCut = true;
      resolve(send<R | Response>(state, call, refusal(state)));
    };
    const fail = (error: unknown) => {
      call.onCut = undefined;
      if (!isCut) sent(call, undefined);
      reject(error);
    };
    follow(answer, (answer) => {
      if (isCut) return discard(answer);
      call.onCut = undefined;
      try {
        resolve(send(state, call, answer));
      } catch (error) {
        fail(error);
      }
    }, fail);
  });
}

/** Ends the call when this answer has been sent; returns the answer to send. It is undefined if there is none. */
function sent<R>(call: Call, answer: R): R | Promise<R> {
  const { info } = call;
  if (isDenoInfo(info)) return sendByDeno(call, info, answer) as R;
  if (isBunInfo(info) && info.hostname !== undefined) call.calls.bun.add(call, info);
  else if (answer instanceof Response && call.request.method !== "HEAD" && answer.status !== 101) {
    return withBodyEnd(answer, call, () => call.end()) as Promise<R>;
  } else call.end();
  return answer;
}

/** The answer to a refused request. */
function refusal(state: ShutdownState): Response {
  const headers = { "connection": "close", "retry-after": state.retryAfter, "content-type": "text/plain" };
  return new Response(REFUSAL, { status: 503, headers });
}

/** An answer that has no reader any more. */
function discard(answer: unknown): void {
  if (answer instanceof Response) answer.body?.cancel().catch(() => {});
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
