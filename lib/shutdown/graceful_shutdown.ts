/**
 * Going down without losing a request.
 *
 * @module
 */
import { ResponseTracker } from "./fetch/response_tracker.ts";
import { attached, type AttachOptions, checkAttach, type ServerLike } from "./attach.ts";
import { checkFunction, checkOptions, isThenable, must } from "../internal/check.ts";
import { cleanUp, type Step } from "./clean_up.ts";
import { drain } from "./drain.ts";
import { countingHandler, type FetchHandler, type HandlerOptions } from "./fetch/handler.ts";
import { listenToSignals } from "./os_signals.ts";
import { type AttachedServer, type InFlight, ShutdownState } from "./shutdown_state.ts";
import {
  checkLabel,
  type GracefulShutdownOptions,
  type ShutdownReport,
  type ShutdownSettings,
  shutdownSettings,
} from "./options.ts";
import { checkWebSocket, countWebSocket, type WebSocketLike } from "./web_socket.ts";
import { ClosedError, TimeoutError } from "../errors.ts";
import { Event } from "../event.ts";

export type { AttachOptions, ServerLike } from "./attach.ts";
export type { FetchHandler, HandlerOptions } from "./fetch/handler.ts";
export type { BunServerLike, DenoServerLike } from "./fetch/server.ts";
export type { NodeRequestLike, NodeServerLike } from "./node/server.ts";
export type { GracefulShutdownOptions, ShutdownReport } from "./options.ts";
export type { WebSocketLike } from "./web_socket.ts";

/**
 * Takes a process down without losing a request: from the signal on it refuses newcomers, waits for what is in flight,
 * cuts what is left when the grace time is over, runs the clean-up steps, and reports.
 *
 * It never exits the process: that is yours to do after {@linkcode GracefulShutdown.finished}. Not for cancelling one piece
 * of work (that is an `AbortController`), nor for limiting how many run (that is {@linkcode Pool}).
 *
 * A second of the operating system's signals forces: everything is cut at once (`debounce` tells it from an echo of the
 * first). A third has the system's default effect.
 *
 * @example
 * ```ts
 * import { GracefulShutdown } from "@interlock/interlock";
 *
 * const shutdown = new GracefulShutdown({ grace: 10_000 });
 * const answer = shutdown.handler(() => new Response("hello"));
 * console.log((await answer(new Request("http://localhost/"))).status); // 200
 *
 * shutdown.defer(() => console.log("closing the database"));
 * shutdown.request("done");
 * const { reason, drained, remaining } = await shutdown.finished;
 * console.log(reason, drained, remaining); // done true []
 * ```
 */
export class GracefulShutdown implements AsyncDisposable {
  // What Deno, Bun or a body reports is known late: #tracker.sweep() comes before every look at who is in flight.
  readonly #settings: ShutdownSettings;
  readonly #state: ShutdownState;
  readonly #tracker = new ResponseTracker();
  readonly #servers: AttachedServer[] = [];
  readonly #attached = new Set<ServerLike>();
  readonly #steps: Step[] = [];
  readonly #over = new Event();
  readonly #ignoreSignals: () => void;
  /** When the first signal of the system came; on the monotonic clock. */
  #heardAt: number | undefined;
  #resolve!: (report: ShutdownReport) => void;

  /** Resolves when everything is over. Never rejects. */
  readonly finished: Promise<ShutdownReport>;

  /**
   * Starts to listen to the signals.
   *
   * @param options See there; times in milliseconds.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for times that are NaN or negative, a `delay` beyond `grace`, and signals that cannot be caught.
   */
  constructor(options?: GracefulShutdownOptions) {
    this.#settings = shutdownSettings(options);
    this.#state = new ShutdownState(this.#settings);
    this.finished = new Promise((resolve) => this.#resolve = resolve);
    this.#ignoreSignals = listenToSignals(this.#settings.signals, (name) => this.#hear(name));
  }

  /** Aborts when shutdown is asked for, with `request`'s reason or an AbortError that names the operating system's signal. */
  get signal(): AbortSignal {
    return this.#state.ending.signal;
  }

  /** Aborts when the time is over or a second signal came: what is in flight now is cut. */
  get forced(): AbortSignal {
    return this.#state.forcing.signal;
  }

  /** Whether new work should be sent here; false from the first moment of the shutdown. For a readiness endpoint. */
  get ready(): boolean {
    return this.#state.phase === "serving";
  }

  /** How many are in flight. */
  get active(): number {
    this.#tracker.sweep();
    return this.#state.inFlight.size;
  }

  /** The labels of what is in flight, oldest first. */
  get labels(): string[] {
    this.#tracker.sweep();
    return this.#state.labels();
  }

  /**
   * Asks for shutdown, as a signal of the operating system does. A second call changes nothing.
   *
   * @param reason What `signal.reason` and the report say.
   */
  request(reason?: unknown): void {
    const state = this.#state;
    if (state.phase !== "serving") return;
    state.phase = "delaying";
    if (this.#settings.delay === 0) this.#stopListening();
    const started = performance.now();
    const told = [...state.inFlight]; // who is added from here on is told by who adds it
    state.ending.abort(reason);
    for (const entry of told) if (state.inFlight.has(entry)) state.attempt(entry.onShutdown);
    void this.#run(started);
  }

  /**
   * Counts `work` as in flight until it settles. Works while draining too: what is in flight may need it.
   *
   * @param work A promise, or a function to call, which gets `signal`. Its rejection stays yours.
   * @param label How the report calls it if it has to be cut.
   * @returns The same promise, or one for the function's result.
   * @throws {ClosedError} (as a rejection) when the drain is over.
   * @throws {TypeError} (as a rejection) when `work` is neither.
   */
  track<P extends PromiseLike<unknown>>(work: P, label?: string): P;
  /** The same for a function, which is called at once. */
  track<T>(work: (signal: AbortSignal) => T | PromiseLike<T>, label?: string): Promise<T>;
  track(work: PromiseLike<unknown> | ((signal: AbortSignal) => unknown), label?: string): PromiseLike<unknown> {
    try {
      checkTracked(work);
      checkLabel(label);
      this.#checkOpen("track");
    } catch (error) {
      return Promise.reject(error);
    }
    const isFunction = typeof work === "function";
    const entry: InFlight = { label: label ?? ((isFunction && work.name) || "task") };
    this.#state.inFlight.add(entry);
    const drop = () => void this.#state.inFlight.delete(entry);
    if (isFunction) return called(work, this.signal, drop);
    Promise.resolve(work).then(drop, drop); // a `then` that throws counts as a rejection
    return work;
  }

  /**
   * Wraps a handler of Deno.serve, Bun.serve or a fetch-style framework: counts each request until the body of its answer
   * was sent or cancelled, and answers 503 with `Retry-After` and `Connection: close` to those who come while draining.
   * Arguments, `this` and errors pass through; on Deno and Bun the answer does too, apart from a `Connection` header.
   *
   * **Cancellation**: a request whose handler has no answer yet when the shutdown is forced is answered 503, as far as the
   * server still sends it: Deno and Bun close their connections at that moment.
   *
   * @param fetchHandler Gets the request and whatever the server passes with it.
   * @param options How requests are called in the report; method and path unless said.
   * @throws {TypeError} when `fetchHandler` or `options.label` is not a function.
   */
  handler<A extends unknown[], R>(
    fetchHandler: FetchHandler<A, R>,
    options?: HandlerOptions,
  ): (request: Request, ...rest: A) => Promise<R | Response> {
    checkFunction(fetchHandler, "fetchHandler");
    checkOptions(options);
    if (options?.label !== undefined) checkFunction(options.label, "label");
    return countingHandler(this.#state, this.#tracker, fetchHandler, options?.label);
  }

  /**
   * Ties a server to the shutdown, so that the drain ends by closing it.
   *
   * Of a node:http(s) server everything is counted: requests until their answer was sent, upgraded connections (WebSockets)
   * until they are closed. Newcomers get 503, busy connections are closed after their answer, idle ones at once. For the
   * servers of Deno.serve and Bun.serve the handler counts; they are only closed in the end.
   *
   * @param server Of node:http(s), Deno.serve or Bun.serve; not of node:http2. Give Deno.serve `signal: shutdown.forced` as
   * well: its server has no other way to be closed by force.
   * @returns The same server.
   * @throws {TypeError} when it is none of them.
   * @throws {ClosedError} when the drain is over.
   */
  attach<S extends ServerLike>(server: S, options?: AttachOptions): S {
    checkAttach(server, options);
    this.#checkOpen("attach server");
    if (this.#attached.has(server)) return server;
    this.#attached.add(server);
    const it = attached(this.#state, server, options);
    this.#servers.push(it);
    if (this.#state.phase === "draining") it.stopListening();
    return server;
  }

  /**
   * Counts a WebSocket until it is closed. When shutdown is asked for it is closed with code 1001 (going away), after the
   * listeners of `signal` were called, which may send a farewell.
   *
   * @param label How the report calls it if it has to be cut.
   * @returns What says that it is closed: to be called by the `close` handler of Bun.serve, and by nobody else.
   * @throws {TypeError} when it is not a WebSocket.
   * @throws {ClosedError} when the drain is over.
   */
  webSocket(socket: WebSocketLike, label?: string): () => void {
    checkWebSocket(socket);
    checkLabel(label);
    this.#checkOpen("count WebSocket");
    return countWebSocket(this.#state, socket, label ?? "WebSocket");
  }

  /**
   * Adds a clean-up step. Steps run after the drain, last one first, one after the other, each bounded by the rest of the
   * grace time; one that fails keeps no other from running.
   *
   * @param fn Gets `forced`.
   * @param label How an error calls it if it does not end in time.
   * @throws {TypeError} when `fn` is not a function.
   * @throws {ClosedError} when the drain is over.
   */
  defer(fn: (signal: AbortSignal) => unknown, label?: string): void {
    checkFunction(fn, "fn");
    checkLabel(label);
    this.#checkOpen("defer clean-up step");
    this.#steps.push({ fn, label: label ?? (fn.name || "clean-up step") });
  }

  /** Asks for shutdown and waits for its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.request();
    await this.finished;
  }

  #checkOpen(act: string): void {
    if (this.#state.phase === "closed") throw new ClosedError(`Cannot ${act}: shutdown is over`);
  }

  #hear(name: string): void {
    const reason = new DOMException(`Shutdown requested: ${name}`, "AbortError");
    if (this.#heardAt === undefined) {
      this.#heardAt = performance.now();
      return this.request(reason);
    }
    if (performance.now() - this.#heardAt < this.#settings.debounce) return;
    this.#ignoreSignals();
    this.#state.force(reason);
  }

  #stopListening(): void {
    this.#state.phase = "draining";
    for (const server of this.#servers) this.#state.attempt(() => server.stopListening());
  }

  async #run(started: number): Promise<void> {
    const { grace, delay } = this.#settings;
    const late = () => this.#state.force(new TimeoutError(`Cannot drain: not done after ${grace} ms`));
    this.#over.wait({ timeout: grace }).catch(late);
    if (delay > 0) {
      await this.#state.pause(delay);
      this.#stopListening();
    }
    const remaining = await drain(this.#state, this.#tracker, this.#servers);
    this.#state.phase = "closed";
    this.#state.errors.push(...await cleanUp(this.#steps, this.forced));
    this.#over.set();
    this.#ignoreSignals();
    const elapsed = performance.now() - started;
    const drained = remaining.length === 0;
    this.#resolve({ reason: this.signal.reason, drained, remaining, elapsed, errors: [...this.#state.errors] });
  }
}

function checkTracked(work: unknown): void {
  must(typeof work === "function" || isThenable(work), "work", "be a promise or a function", work);
}

/** In an async function of its own, so that a rejection that nobody takes is reported by the run-time. */
async function called<T>(work: (signal: AbortSignal) => T, signal: AbortSignal, drop: () => void): Promise<Awaited<T>> {
  try {
    return await work(signal);
  } finally {
    drop();
  }
}
