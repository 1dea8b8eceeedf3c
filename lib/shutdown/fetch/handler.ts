/**
 * A fetch handler that counts its requests. Invariant: a request is in flight until its response was sent *and* its
 * handler has ended.
 *
 * @module
 */
import { checkFunction, isThenable, must } from "../../internal/check.ts";
import { follow } from "../../internal/follow.ts";
import { withBodyEnd } from "./body_end.ts";
import { reportsEnd } from "../platform/bun.ts";
import { Call } from "./calls.ts";
import { isDenoInfo, readsOn, sendByDeno } from "./deno.ts";
import { requestLabel } from "../in_flight.ts";
import { readLabel } from "../options.ts";
import { REFUSAL, type ShutdownState } from "../shutdown_state.ts";

/**
 * A handler for Deno.serve, Bun.serve and fetch-style frameworks.
 *
 * @param request The request.
 * @param rest What the server passes besides, such as the remote address.
 */
export type FetchHandler<A extends unknown[], R> = (request: Request, ...rest: A) => R | PromiseLike<R>;

/** How {@linkcode GracefulShutdown.handler} treats requests. */
export interface HandlerOptions {
  /** Names a request in {@linkcode ShutdownReport.remaining}. Default: method and path. */
  readonly label?: ((request: Request) => string) | undefined;
}

/** Throws unless `value` is a fetch handler. An app of node:http is not one, even if it is a function. */
function checkFetchHandler(value: unknown): void {
  const { fetch, listen } = Object(value) as Record<string, unknown>;
  const isApp = typeof listen === "function";
  const remedy = isApp ? " (attach the server that app.listen returns)" : "";
  const hint = typeof fetch === "function" ? " (pass its fetch)" : remedy;
  must(typeof value === "function" && !isApp, "fetchHandler", `be a function${hint}`, value);
  checkFunction(value, "fetchHandler");
}

/**
 * Turns `fn` into a counting handler. Each request allocates only its call and one promise, which is already resolved
 * for a synchronous response.
 */
export function countingHandler<A extends unknown[], R>(
  state: ShutdownState,
  fn: FetchHandler<A, R>,
  options: HandlerOptions | undefined,
): (request: Request, ...rest: A) => Promise<R | Response> {
  checkFetchHandler(fn);
  const label = readLabel(options);
  state.checkUsable("wrap handler");
  state.hasWrapped = true;
  return function (this: unknown, request: Request, info?: unknown): Promise<R | Response> {
    // Not a rest parameter, which would allocate an array
    const args = arguments as unknown as [Request, ...A];
    let call: Call | undefined;
    try {
      if (state.exchangeOfServer !== undefined) {
        if (label !== undefined) state.exchangeOfServer.label = requestLabel(request, label);
        return Promise.resolve(Reflect.apply(fn, this, args));
      }
      if (state.refuses) return Promise.resolve(refusal(state));
      call = new Call(state, request, info, label);
      const answer = Reflect.apply(fn, this, args);
      if (!isThenable(answer)) return Promise.resolve(toSend(state, call, answer));
      return responseLater(state, call, answer);
    } catch (error) {
      if (call !== undefined) endWhenSent(call, undefined);
      return Promise.reject(error);
    }
  } as (request: Request, ...rest: unknown[]) => Promise<R | Response>;
}

/** Returns the response to send for the handler's result. */
function toSend<R>(state: ShutdownState, call: Call, answer: R): R | Response | Promise<R | Response> {
  const { heldBack, announces } = state;
  if (heldBack !== undefined && !readsOn(call, answer)) {
    call.stage = "held";
    return heldBack.then(() => toSend(state, call, answer)); // by then it announces the close
  }
  return endWhenSent(call, announces ? withCloseHeader(answer) : answer);
}

/** Returns the response to send for a pending result, or a refusal if the call is cut first. */
function responseLater<R>(state: ShutdownState, call: Call, answer: PromiseLike<R>): Promise<R | Response> {
  return new Promise((resolve, reject) => {
    call.onCut = () => resolve(endWhenSent<R | Response>(call, refusal(state)));
    follow(answer, (answer) => {
      if (call.stage !== "sending") resolve(toSend(state, call, answer));
      else if (answer instanceof Response) answer.body?.cancel().catch(() => {}); // the call was cut
    }, (error) => {
      if (call.stage !== "sending") endWhenSent(call, undefined);
      reject(error);
    });
  });
}

/** Ends the call when this response has been sent. Returns the response to send; undefined if there is none. */
function endWhenSent<R>(call: Call, answer: R): R | Promise<R> {
  const { info } = call;
  call.stage = "sending";
  call.onCut = undefined;
  if (isDenoInfo(info)) return sendByDeno(call, info, answer) as R;
  if (reportsEnd(info)) return answer; // the call ends when a sweep finds it over
  if (answer instanceof Response && call.request.method !== "HEAD" && answer.status !== 101) {
    return withBodyEnd(answer, call) as Promise<R>;
  }
  call.end();
  return answer;
}

/** The response to a refused request. */
function refusal(state: ShutdownState): Response {
  const headers = { "connection": "close", "retry-after": state.retryAfter, "content-type": "text/plain" };
  return new Response(REFUSAL, { status: 503, headers });
}

/** Adds `Connection: close` to a response. */
function withCloseHeader<R>(answer: R): R | Response {
  if (!(answer instanceof Response) || answer.status < 200) return answer;
  try {
    answer.headers.set("connection", "close");
    return answer;
  } catch {
    if (answer.bodyUsed || answer.body?.locked) return answer; // the server reports the error
    // The headers of a redirect or of a response from fetch() are immutable.
    const copy = new Response(answer.body, answer);
    copy.headers.set("connection", "close");
    return copy;
  }
}
