/**
 * The shared state of GracefulShutdown: the work in flight, and the phase of the shutdown.
 *
 * @module
 */
import { ClosedError } from "../errors.ts";
import { pause } from "../internal/cancellation.ts";
import { checkString } from "../internal/check.ts";
import { isCancellation } from "../internal/is_cancellation.ts";
import { sharedController } from "../internal/platform.ts";
import { type InFlight, WorkInFlight } from "./in_flight.ts";
import type { ShutdownSettings } from "./options.ts";
import { addErrors, type ShutdownReport } from "./report.ts";

/**
 * The phases in order:
 *
 * | phase    | time, and what happens to requests and work                                                      |
 * | -------- | ------------------------------------------------------------------------------------------------ |
 * | serving  | before the signal                                                                                |
 * | delaying | during the delay                                                                                 |
 * | calming  | requests are held back until the listeners are closed; servers that are attached now are stopped |
 * | draining | the listeners are closed; each connection gets one last response                                 |
 * | closed   | after the drain, while the clean-up steps run; work is no longer counted                         |
 * | finished | the report is complete                                                                           |
 */
const PHASES = ["serving", "delaying", "calming", "draining", "closed", "finished"] as const;
type Phase = (typeof PHASES)[number];

/** An attached server. */
export interface AttachedServer {
  /**
   * Called at the signal. From here on `server.close()` leaves the connections alone, even if a framework calls it.
   * With a delay, the last response of each connection announces the close.
   */
  begin?(): void;
  /**
   * Resolves when the listening socket can be closed: all connections accepted by the system have arrived, or 250 ms
   * are over.
   */
  awaitCalm(): Promise<void>;
  /** Closes the listening socket, and announces the close. */
  stopListening(): void;
  /** Closes idle connections. Called every few ms while draining. */
  sweep?(): void;
  /** Resolves when the last connection is closed, or work is in flight again. Called while nothing is in flight. */
  close(): Promise<void>;
  /** Whether requests bypass `handler`, and so are not counted. Checked at the signal. */
  isUncounted?(): boolean;
  /** Closes all open connections at once. Returns labels of cut connections that were not in flight. */
  cut(): string[];
  /** Restores the server to its state before attaching. Its work in flight stays counted until it ends. */
  detach?(): void;
}

/** A user's function to call during the shutdown. */
export interface Step {
  readonly label: string;
  readonly fn: (signal: AbortSignal) => unknown;
}

/** The shared state. */
export class ShutdownState {
  // phase only moves forward. phase !== "serving" implies that `signal` has aborted or will in the same step.
  phase: Phase = "serving";
  /** Implies the phase "serving", for ever. */
  isDisposed = false;
  // Created on first use: Cloudflare Workers forbids it at module scope.
  #ending: AbortController | undefined;
  #forcedController: AbortController | undefined;
  readonly inFlight: WorkInFlight = new WorkInFlight();
  /** Whether a fetch handler was wrapped, and the number of its calls so far. */
  hasWrapped = false;
  handlerCalls = 0;
  /** Whether the end of some response shows only when its server closes. */
  endsUnreported = false;
  /** Servers and pools that are attached, each with the function that undoes this. */
  readonly attached: Map<object, () => void> = new Map();
  /** Servers that listen or drain; in the phase "draining", without servers that are about to stop listening. */
  readonly servers: Map<object, AttachedServer> = new Map();
  /**
   * While set, node servers hold back new requests, and fetch servers responses: clients that wait for a response open
   * no further connections, so even an overloaded listener comes to rest.
   */
  heldBack: Promise<void> | undefined;
  /** Resolves `heldBack`. */
  #resume = (): void => {};
  /** While a server calls its listeners: the request for which it does so, and which it has counted. */
  exchangeOfServer: InFlight | undefined;
  /** Registered by onShutdown(). */
  readonly callbacks: Step[] = [];
  /** Registered by defer(). */
  readonly steps: Step[] = [];
  /** The label of the present or last clean-up step. */
  step: string | undefined;
  /** Functions to call when everything is over. */
  readonly atEnd: Set<() => void> = new Set();
  /** Whether anything was ever attached, handled, tracked, deferred or registered. */
  hasRegistered = false;
  /** The work that was in flight when the shutdown was forced. */
  readonly cut: Set<InFlight> = new Set();
  /** Whether the service has started. Before that, a shutdown without attached work is not worth a warning. */
  started: boolean;
  /** Resolves `finished`. */
  resolveFinished!: (report: Promise<ShutdownReport>) => void;
  /** Resolves when everything is over, including later registrations. */
  finished: Promise<ShutdownReport> = new Promise((resolve) => this.resolveFinished = resolve);
  /** For the report: labels of what was cut or cancelled, and errors. */
  readonly remaining: string[] = [];
  readonly errors: unknown[] = [];
  readonly settings: ShutdownSettings;

  constructor(settings: ShutdownSettings) {
    this.settings = settings;
    this.started = settings.ready;
  }

  /** Called first for each registration. Throws if `label` is no string, and after the disposal. */
  checkUsable(operation: string, label?: string): void {
    if (label !== undefined) checkString(label, "label");
    if (this.isDisposed) throw new ClosedError(`Cannot ${operation}: shutdown was disposed of`);
    this.hasRegistered = true;
  }

  /** As `checkUsable`, for work to be counted. Also throws when the drain is over. */
  checkCounting(operation: string, label?: string): void {
    this.checkUsable(operation, label);
    if (!this.counts) throw new ClosedError(`Cannot ${operation}: shutdown is over`);
  }

  /** Value of the Retry-After header. */
  get retryAfter(): string {
    return String(Math.ceil(this.settings.retryAfter / 1000));
  }

  /** Whether this phase or a later one has begun. */
  hasReached(phase: Phase): boolean {
    return PHASES.indexOf(this.phase) >= PHASES.indexOf(phase);
  }

  /** Whether work is counted. */
  get counts(): boolean {
    return !this.hasReached("closed");
  }

  /**
   * Whether responses ask clients to close the connection: from the closing of the listeners on, or from the start of a
   * delay.
   */
  get announces(): boolean {
    return this.phase !== "serving" && (this.settings.delay !== 0 || this.hasReached("draining"));
  }

  /** Whether a request that arrives now gets 503. */
  get refuses(): boolean {
    if (this.phase === "serving") return false; // on the path of every request, where the signals' getters cost too much
    return !this.counts || this.forced.aborted || (this.phase === "draining" && this.settings.late === "refuse");
  }

  /** Holds requests and responses back until resume(). */
  holdBack(): void {
    this.heldBack ??= new Promise((resolve) => this.#resume = resolve);
  }

  /** Passes on the requests and responses that were held back. */
  resume(): void {
    this.heldBack = undefined;
    this.#resume();
  }

  /**
   * Calls resume() one turn after the listeners were closed. Deno (2.9.6) closes them at the end of a turn: preparing a
   * hundred responses in that turn would take several ms, in which further connections would be accepted and reset.
   */
  async resumeNextTurn(): Promise<void> {
    await this.pause(TURN);
    this.resume();
  }

  /** The labels of the work in flight, oldest first. */
  labels(): string[] {
    this.inFlight.sweep();
    return [...this.inFlight].filter(({ count }) => count > 0).map(({ label }) => label);
  }

  /** The labels of the work that would be cut now: the work in flight and the present clean-up step. */
  pendingLabels(): string[] {
    return this.labels().concat(this.step ?? []);
  }

  /** The signal that aborts when shutdown is requested. */
  get signal(): AbortSignal {
    return (this.#ending ??= sharedController()).signal;
  }

  /** Aborts {@linkcode forced}. */
  get forcedController(): AbortController {
    return this.#forcedController ??= sharedController();
  }

  /** The signal that aborts when it is forced. */
  get forced(): AbortSignal {
    return this.forcedController.signal;
  }

  /** Aborts {@linkcode signal}, then notifies the work in flight. Work that is added later sees the phase. */
  notify(reason: unknown): void {
    const inFlight = [...this.inFlight];
    (this.#ending ??= sharedController()).abort(reason);
    this.collectErrorOf(() => this.inFlight.sweep()); // entries that are over are not notified
    for (const entry of inFlight) if (entry.isListed) this.collectErrorOf(() => entry.onShutdown?.());
  }

  /** Calls `fn`; its error goes into the report. */
  collectErrorOf(fn: () => unknown): void {
    try {
      fn();
    } catch (error) {
      this.errors.push(error);
    }
  }

  /** Awaits `fn`; its error goes into the report. Never rejects; resolves to whether `forced` cancelled it. */
  async collectRejection(fn: () => unknown): Promise<boolean> {
    try {
      await fn();
    } catch (error) {
      if (isCancellation(error, this.forced)) return true;
      this.errors.push(error);
    }
    return false;
  }

  /** Adds work that began after everything was over: `finished` now waits for it, and its report has the error. */
  addLate(late: Promise<void>): Promise<void> {
    this.finished = Promise.all([this.finished, late.then(() => [], (error) => [error])]).then(addErrors);
    return late;
  }

  /** Resolves after `ms`, as soon as shutdown is forced, or when `until` settles. */
  pause(ms: number, until?: Promise<unknown>): Promise<void> {
    return ms > 0 ? pause(ms, this.forced, true, until) : Promise.resolve();
  }
}

/** Time in ms that a client has to read its response in an exchange that is no longer awaited. */
export const LINGER = 1000;

/**
 * Interval in ms between checks of servers while draining, for idle connections and for responses whose end is not
 * reported.
 */
export const CHECK_EVERY = 10;

/**
 * Time in ms within which the run-time's next turn comes, which accepts connections, reads requests and sends
 * responses.
 */
export const TURN = 1;

/** The text of a 503. */
export const REFUSAL = "The server is shutting down.\n";
