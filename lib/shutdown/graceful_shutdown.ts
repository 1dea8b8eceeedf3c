/**
 * Graceful shutdown that drops no accepted request.
 *
 * @module
 */
import { attach, type AttachOptions, detach, type ServerLike } from "./attach.ts";
import { countingHandler, type FetchHandler, type HandlerOptions } from "./fetch/handler.ts";
import { InFlight } from "./in_flight.ts";
import { checkBoolean, checkFunction, isThenable, must } from "../internal/check.ts";
import { follow } from "../internal/follow.ts";
import { type GracefulShutdownOptions, shutdownSettings } from "./options.ts";
import { ignoreWhileExiting, listenToSignals } from "./os_signals.ts";
import type { PoolLike } from "./pool_work.ts";
import { force, runSequence, startCallback } from "./sequence.ts";
import type { ShutdownReport } from "./report.ts";
import { ShutdownState, type Step } from "./shutdown_state.ts";
import { countShutdown, uncountShutdown, warnInWorker } from "./warnings.ts";
import { countWebSocket, type RawSocketLike, type WebSocketLike, type WebSocketOptions } from "./web_socket.ts";
import { setDisposal } from "../internal/dispose.ts";
import { printAs } from "../internal/show.ts";
import { exposeState } from "../internal/state.ts";

/**
 * Shuts a process down without dropping an accepted request.
 *
 * The sequence:
 *
 * 1. **Signal**: an OS signal arrives, or `request()` is called. `signal` aborts, `ready` turns false, and WebSockets
 *    are closed with code 1001.
 * 2. **Delay**: for `delay` ms new connections are still accepted, and responses ask clients to close theirs. Default:
 *    none.
 * 3. **Listeners closed**: the system refuses new connections, and another process can bind the port. The callbacks of
 *    `onShutdown` are called.
 * 4. **Last responses**: the work in flight is awaited. A request that arrives on an existing connection is served,
 *    with `Connection: close`; connections that stay silent for `idle` ms are closed.
 * 5. **Clean-up**: the steps of `defer` run.
 * 6. **Report**: `finished` resolves.
 *
 * After `grace` ms, or at a second OS signal, the shutdown is forced: `forced` aborts, and all work in flight is cut.
 * `debounce` distinguishes the second signal from an echo of the first. A third signal has the system's default effect.
 *
 * The shutdown never exits the process: call `process.exit(ok ? 0 : 1)` after {@linkcode GracefulShutdown.finished}. A process
 * that is still alive 5 s later prints the warning `INTERLOCK_STILL_ALIVE`. To cancel one piece of work, use an
 * `AbortController`; to limit concurrency, use {@linkcode Pool}.
 *
 * **Limits of the platforms**:
 *
 * - Deno.serve (2.9) breaks uploads when it stops listening, so its listener is closed only when each upload in
 *   progress has arrived, or has its response if it is read as a stream. While uploads keep overlapping, responses are
 *   held back for up to a second, so that no client begins another upload.
 * - When Deno.serve and Bun.serve stop listening, they close idle connections at once, together with requests on these
 *   connections that they have not read.
 * - node:http serves all pipelined requests. With Deno.serve and Bun.serve, this depends on the platform.
 * - node:http on Bun forgets silent connections instead of closing them.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @example
 * ```ts
 * import { GracefulShutdown } from "@interlock/interlock";
 *
 * const shutdown = new GracefulShutdown({ grace: 10_000 });
 * const answer = shutdown.handler(() => new Response("hello"));
 * const { status } = await answer(new Request("http://localhost/"));
 * console.log(status); // 200
 *
 * shutdown.defer(() => console.log("closing the database"));
 * shutdown.request("done");
 * const { reason, ok, remaining } = await shutdown.finished;
 * console.log(reason, ok, remaining); // done true []
 * ```
 */
export class GracefulShutdown implements Disposable, AsyncDisposable {
  readonly #state: ShutdownState;
  readonly #stopListening: () => void;
  /** The first OS signal, and when it arrived on the monotonic clock. */
  #first: { readonly name: string; readonly at: number } | undefined;

  static {
    exposeState(GracefulShutdown, (shutdown) => shutdown.#state);
    setDisposal(GracefulShutdown, function (this: GracefulShutdown) {
      this.#dispose();
    });
    printAs(GracefulShutdown, "GracefulShutdown", ["ready", "active", "labels"]);
  }

  /**
   * Listens for the OS signals; the first one starts the shutdown.
   *
   * @param options All times are in milliseconds.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when a time is NaN or negative, `delay` is longer than `grace`, a signal cannot be caught, or
   *   `late` is unknown.
   */
  constructor(options?: GracefulShutdownOptions) {
    const settings = shutdownSettings(options);
    const { signals, debounce } = settings;
    countShutdown();
    this.#state = new ShutdownState(settings);
    warnInWorker(signals);
    this.#stopListening = listenToSignals(signals, (name) => this.#receiveSignal(name));
    this.#state.atEnd.add(() => {
      // A wrapper may forward the first signal while the process exits. That must not change the exit code.
      if (this.#first !== undefined) ignoreWhileExiting(signals, this.#first.at + debounce - performance.now());
      this.#stopListening();
    });
  }

  /**
   * Resolves when the shutdown is complete. Never rejects. If a signal interrupts the start-up, it also waits for the
   * later calls of `attach`, `defer` and `onShutdown`. So put `await shutdown.finished` at the end of the program.
   */
  get finished(): Promise<ShutdownReport> {
    return this.#state.finished;
  }

  /** Aborts when shutdown is requested, with `request`'s reason or an AbortError that names the OS signal. */
  get signal(): AbortSignal {
    return this.#state.signal;
  }

  /** Aborts when the grace time is over or a second OS signal arrives. The work in flight is then cut. */
  get forced(): AbortSignal {
    return this.#state.forced;
  }

  /**
   * Whether to send new work here, for a readiness endpoint. With the option `ready: false`, it is false until you set
   * it to true. From the signal on, it is false, and setting it has no effect.
   */
  get ready(): boolean {
    return this.#state.started && this.#state.phase === "serving";
  }

  set ready(value: boolean) {
    checkBoolean(value, "ready");
    this.#state.started = value;
  }

  /** The number of requests, tasks, calls of attached pools (queued ones too) and WebSockets in flight. */
  get active(): number {
    this.#state.inFlight.sweep();
    return [...this.#state.inFlight].reduce((sum, { count }) => sum + count, 0);
  }

  /** The labels of the work in flight, oldest first. */
  get labels(): string[] {
    return this.#state.labels();
  }

  /**
   * Starts the shutdown, as an OS signal does. A second call, or a call after the disposal, has no effect.
   *
   * @param reason Becomes `signal.reason` and the report's `reason`. Default: the platform's AbortError.
   */
  request(reason?: unknown): void {
    if (this.#state.phase !== "serving" || this.#state.isDisposed) return;
    this.#state.resolveFinished(runSequence(this.#state, reason));
  }

  /**
   * Counts `work` as in flight until it settles. You can call it during the drain, too, because the work in flight may
   * need it.
   *
   * @param work A promise. The report does not contain its rejection: handle the returned promise. The run-time reports
   * an unhandled rejection only for a function, not for a promise.
   * @param label Names it in the report if it has to be cut. Default: "task".
   * @returns The same promise.
   * @throws {ClosedError} when the drain is over.
   * @throws {TypeError} when `work` is neither a promise nor a function.
   */
  track<P extends PromiseLike<unknown>>(work: P, label?: string): P;
  /**
   * Calls a function immediately, and counts it as in flight until its result settles.
   *
   * @param work The function to call. Its signal aborts when the shutdown begins.
   * @param label Names it in the report if it has to be cut. Default: the function's name.
   * @returns The function's result.
   * @throws {ClosedError} when the drain is over.
   * @throws {TypeError} when `work` is a generator function.
   *
   * @example
   * ```ts
   * import { GracefulShutdown } from "@interlock/interlock";
   *
   * const shutdown = new GracefulShutdown();
   * const upload = shutdown.track(async () => {
   *   await new Promise((done) => setTimeout(done, 10));
   *   return "saved";
   * }, "upload");
   * console.log(shutdown.labels); // [ 'upload' ]
   * shutdown.request();
   * console.log((await shutdown.finished).ok, await upload); // true saved
   * ```
   */
  track<T>(work: (signal: AbortSignal) => T | PromiseLike<T>, label?: string): Promise<T>;
  track(work: PromiseLike<unknown> | ((signal: AbortSignal) => unknown), label?: string): PromiseLike<unknown> {
    const { inFlight, signal } = this.#state;
    try {
      const isFunction = typeof work === "function";
      must(isFunction || isThenable(work), "work", "be a promise or a function", work);
      if (isFunction) checkFunction(work, "work");
      this.#state.checkCounting("track", label);
      const entry = new InFlight(label ?? ((isFunction && work.name) || undefined));
      const untrack = () => inFlight.delete(entry);
      if (!isFunction) follow(work, untrack, untrack); // before counting it, because this may throw
      inFlight.add(entry);
      return isFunction ? runTracked(work, signal, untrack) : work;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Wraps a handler of Deno.serve, Bun.serve or a fetch-style framework: counts each request until the body of its
   * response was sent or cancelled. Once the listeners are closed, and during a delay, responses have
   * `Connection: close`. Arguments, `this` and errors pass through. Requests get 503 with `Retry-After` once the
   * shutdown is forced or its drain is over, and earlier with `late: "refuse"`.
   *
   * Without `attach`, Bun and Deno report when a body was sent, even under `deno serve`. On Node, the handler sees only
   * when a body was read, which is before it is sent, so attach the server.
   *
   * **Cancellation**: a request that has no response when the shutdown is forced gets 503, if the server can still send
   * it.
   *
   * @param fetchHandler Gets the request and the server's other arguments.
   * @param options How requests are named in the report.
   * @throws {TypeError} when `fetchHandler` or `options.label` is not a function.
   *
   * @example
   * ```ts
   * import { GracefulShutdown } from "@interlock/interlock";
   *
   * const shutdown = new GracefulShutdown();
   * // For Deno.serve(handler):
   * const handler = shutdown.handler(() => new Response("hello"));
   * const served = await handler(new Request("http://localhost/"));
   * console.log(served.status, await served.text()); // 200 hello
   * shutdown.request();
   * await shutdown.finished;
   * const refused = await handler(new Request("http://localhost/"));
   * console.log(refused.status); // 503
   * ```
   */
  handler<A extends unknown[], R>(
    fetchHandler: FetchHandler<A, R>,
    options?: HandlerOptions,
  ): (request: Request, ...rest: A) => Promise<R | Response> {
    return countingHandler(this.#state, fetchHandler, options);
  }

  /**
   * Attaches a server, or a {@linkcode Pool}. The shutdown closes a server's listener first, and its connections after
   * their last responses. Attaching a server again has no effect. A server that is attached while listeners are being
   * closed stops listening.
   *
   * **node:http(s) and node:http2**: the shutdown counts everything that begins from now on: requests and streams until
   * their response was sent, upgraded connections (WebSockets) until they are closed. If you do not pass an upgraded
   * connection to {@linkcode GracefulShutdown.webSocket}, it is ended when all other work has ended and it has been
   * silent for a second. HTTP/2 clients get a GOAWAY. Other servers of the same app, such as those that Fastify makes
   * for each address of localhost, are attached by their first connection.
   *
   * **Deno.serve and Bun.serve**: {@linkcode GracefulShutdown.handler} counts the requests. Also pass
   * `signal: shutdown.forced` to Deno.serve, because its server cannot be closed by force in any other way.
   *
   * **A pool** is closed when the shutdown begins. Its calls, including queued ones, are work in flight, and so are
   * maps whose reading has begun. The report's `errors` contain its unobserved failures, as {@linkcode Pool.join} would
   * throw them. A forced shutdown cancels the pool with the reason of `forced`.
   *
   * @param server Of node:http, node:https, node:http2, Deno.serve or Bun.serve; or a pool.
   * @param options How requests are named in the report.
   * @returns The same server, or pool.
   * @throws {TypeError} when `server` is not one of these servers (an app, say), or is attached to another
   *   GracefulShutdown.
   *
   * @example
   * ```ts
   * import { GracefulShutdown } from "@interlock/interlock";
   * import { createServer } from "node:http";
   *
   * const shutdown = new GracefulShutdown();
   * const server = createServer((_, response) => response.end("hello"));
   * shutdown.attach(server);
   * await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
   * shutdown.request(); // as SIGTERM does
   * const { ok } = await shutdown.finished;
   * console.log(ok, server.listening); // true false
   * ```
   */
  attach<S extends ServerLike | PoolLike>(server: S, options?: AttachOptions): S {
    attach(this.#state, server, options);
    return server;
  }

  /**
   * Undoes `attach`: this shutdown does not close the server or pool. Its requests in flight stay counted until they
   * end. `handler` is not undone. Has no effect on a server that is not attached.
   *
   * @param server The server or pool passed to `attach`.
   */
  detach(server: ServerLike | PoolLike): void {
    detach(this.#state, server);
  }

  /**
   * Counts a WebSocket until it is closed. At the signal, after the listeners of `signal` have run, the shutdown closes
   * it with code 1001 (going away), or calls `options.close`. A forced shutdown terminates it.
   *
   * @param socket The platform's WebSocket, Bun's ServerWebSocket, one of the package ws, or the raw socket of
   * `server.on("upgrade")`, which is ended by `end()`. Not for socket.io: use `onShutdown(() => io.close())`.
   * @param options How it is closed, and its name in the report if it has to be cut. A string is the name.
   * @returns A function that ends the counting. Call it for a socket that has no events and whose `readyState` does not
   * show its end.
   * @throws {TypeError} when `socket` is not a WebSocket, or an option has a wrong type.
   * @throws {ClosedError} when the drain is over.
   *
   * @example
   * ```ts
   * import { GracefulShutdown } from "@interlock/interlock";
   *
   * const shutdown = new GracefulShutdown();
   * // In place of the WebSocket of a client:
   * const socket = Object.assign(new EventTarget(), {
   *   close(code?: number) {
   *     console.log(code); // 1001
   *     socket.dispatchEvent(new Event("close"));
   *   },
   * });
   * shutdown.webSocket(socket, "chat");
   * console.log(shutdown.labels); // [ 'chat' ]
   * shutdown.request();
   * console.log((await shutdown.finished).ok); // true
   * ```
   */
  webSocket<S extends WebSocketLike | RawSocketLike>(socket: S, options?: string | WebSocketOptions<S>): () => void {
    return countWebSocket(this.#state, socket, typeof options === "string" ? { label: options } : options);
  }

  /**
   * Registers a callback for the moment at which the listeners are closed, after `delay`. Use it to end WebSockets
   * (`io.close()`). If a framework's close also ends resources that handlers use (NestJS, Apollo Server, hapi), put it
   * into {@linkcode GracefulShutdown.defer}. All callbacks run concurrently, and each is in flight until it ends. If a
   * callback rejects, its error is in the report, unless it only reports that `forced` cancelled it. If you register a
   * callback after the listeners are closed, it is called immediately; after the drain, it counts as a clean-up step.
   *
   * @param fn Called with the signal `forced`.
   * @param label Names it in the report if it has to be cut. Default: the function's name.
   * @returns If everything is over, a promise that settles as `fn` does, and whose rejection needs no handler.
   * @throws {TypeError} when `fn` is not a function.
   */
  onShutdown(fn: (signal: AbortSignal) => unknown, label?: string): Promise<void> | undefined {
    const callback = this.#newStep(fn, label, "shutdown callback");
    if (!this.#state.counts) return this.#addStep(callback);
    if (this.#state.hasReached("draining")) startCallback(this.#state, callback);
    else this.#state.callbacks.push(callback);
    return undefined;
  }

  /**
   * Adds a clean-up step, such as closing a database or a framework that handlers use. Steps run after the drain, one
   * at a time, the last one first, each bounded by the rest of the grace time. A failed step does not keep other steps
   * from running, and its error is in the report. If the error only reports that `forced` cancelled the step, its label
   * is in `remaining` instead. When everything is over, a new step is called immediately, so that a start-up can close
   * the resources that it opened after the signal.
   *
   * @param fn Called with the signal `forced`.
   * @param label Names it in the report if it does not end in time. Default: the function's name.
   * @returns If everything is over, a promise that settles as `fn` does, and whose rejection needs no handler.
   * @throws {TypeError} when `fn` is not a function.
   */
  defer(fn: (signal: AbortSignal) => unknown, label?: string): Promise<void> | undefined {
    return this.#addStep(this.#newStep(fn, label, "clean-up step"));
  }

  /**
   * Undoes everything that this shutdown has installed: it no longer listens to OS signals, and its servers are
   * detached. `finished` stays pending, and its signals never abort. Wrapped handlers still respond. Every later
   * registration throws a ClosedError. Has no effect once a shutdown has begun. For tests, with `using shutdown = …`.
   */
  [Symbol.dispose](): void {
    this.#dispose();
  }

  /** Requests the shutdown and waits for its end. Has no effect after `[Symbol.dispose]()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.request();
    if (!this.#state.isDisposed) await this.finished;
  }

  #dispose(): void {
    const state = this.#state;
    if (state.phase !== "serving" || state.isDisposed) return;
    state.isDisposed = true;
    this.#stopListening();
    for (const server of state.attached.keys()) detach(state, server);
    uncountShutdown();
  }

  #newStep(fn: Step["fn"], label: string | undefined, kind: string): Step {
    checkFunction(fn);
    this.#state.checkUsable(`register ${kind}`, label);
    return { fn, label: label ?? (fn.name || kind) };
  }

  #addStep(step: Step): Promise<void> | undefined {
    const state = this.#state;
    if (state.phase === "finished") return state.addLate((async () => void await step.fn(state.forced))());
    state.steps.push(step);
    return undefined;
  }

  #receiveSignal(name: string): void {
    const first = this.#first;
    if (first === undefined) {
      this.#first = { name, at: performance.now() };
      return this.request(new DOMException(`Shutdown requested: ${name}`, "AbortError"));
    }
    const elapsed = performance.now() - first.at;
    if (elapsed < this.#state.settings.debounce) return;
    this.#stopListening();
    const reason = new DOMException(`Shutdown forced: ${name}`, "AbortError");
    force(this.#state, reason, `${name}, ${Math.round(elapsed)} ms after ${first.name}`);
  }
}

/**
 * Calls tracked work, and calls `untrack` when it has ended. A separate async function, so that the run-time reports an
 * unhandled rejection.
 */
async function runTracked<T>(
  work: (signal: AbortSignal) => T,
  signal: AbortSignal,
  untrack: () => void,
): Promise<Awaited<T>> {
  try {
    return await work(signal);
  } finally {
    untrack();
  }
}
