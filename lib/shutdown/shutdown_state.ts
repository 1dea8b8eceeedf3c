/**
 * The state that the parts of GracefulShutdown share: the work in flight, and how far the shutdown has come.
 *
 * @module
 */
import { onCancel } from "../internal/cancellation.ts";
import { isCancellation } from "../internal/is_cancellation.ts";
import { runtime, sharedController } from "../internal/platform.ts";
import { FetchCalls } from "./fetch/calls.ts";
import { type InFlight, isSound, WorkInFlight } from "./in_flight.ts";
import type { ShutdownSettings } from "./options.ts";
import { addErrors, type ShutdownReport } from "./report.ts";

/**
 * The phases, in their order, and what holds in each of them: whether work is counted, whether servers listen (those that
 * are attached later stop), and whether requests get 503: if the option `late` says so, or in any case.
 */
const PHASES = {
  /** Shutdown was not requested. */
  serving: { counts: true, listens: true, refuses: "never" },
  /** It was, and the delay passes. */
  delaying: { counts: true, listens: true, refuses: "never" },
  /** The listeners are about to be closed. */
  settling: { counts: true, listens: false, refuses: "never" },
  /** They are closed, and each connection gets one last answer. */
  draining: { counts: true, listens: false, refuses: "late" },
  /** The drain is over, and the clean-up steps run. */
  closed: { counts: false, listens: false, refuses: "always" },
  /** The report is made. */
  finished: { counts: false, listens: false, refuses: "always" },
} as const;

/** A server that was attached. */
export interface AttachedServer {
  /** Called at the signal: from here on `server.close()` leaves the connections alone, also a framework's call. */
  begin?(): void;
  /** Resolves when the listening socket can be closed: what the system has accepted has come in, or 250 ms are over. */
  settle(): Promise<void>;
  /** From here on, the last answer of each connection says that it closes. Called once more with the listener closed. */
  announce?(): void;
  /** Closes the listening socket. */
  stopListening(): void;
  /** Called every few ms while draining: closes connections that are idle. */
  sweep?(): void;
  /** Resolves when the last connection is closed. Called while nothing is in flight. */
  close(): Promise<void>;
  /** Whether requests go past `handler`, by which alone they are counted. Asked at the signal. */
  isUncounted?(): boolean;
  /** Whether both have the same listener for requests. */
  isSibling?(server: object): boolean;
  /** Closes what is still open at once. Returns labels for connections that are not in flight and yet were cut. */
  cut(): string[];
  /** Leaves the server as it was before it was attached; what is in flight stays so until it ends. */
  detach(): void;
}

/** A function of the user, to be called in the course of the shutdown. */
export interface Step {
  readonly label: string;
  readonly fn: (signal: AbortSignal) => unknown;
}

/** The shared state. */
export class ShutdownState {
  // phase only goes forward. phase !== "serving" implies signal.aborted or about to be, in the same step.
  phase: keyof typeof PHASES = "serving";
  // Made when they are needed first: Cloudflare Workers forbids it at module scope.
  #ending: AbortController | undefined;
  #forcing: AbortController | undefined;
  /** Whether answers tell their clients to close the connection: not before the listener is closed, but for a delay. */
  announces = false;
  readonly inFlight: WorkInFlight = new WorkInFlight();
  /** Those of fetch-style handlers, which are part of it. */
  readonly calls: FetchCalls = new FetchCalls(this.inFlight);
  /** Those that listen or drain; in the phase draining, without those that are about to stop listening. */
  readonly servers: Set<AttachedServer> = new Set();
  /** The request that one of them counts, and is passing to its listeners at this moment. */
  dispatching: InFlight | undefined = undefined;
  /** Registered by onShutdown(). */
  readonly callbacks: Step[] = [];
  callbacksStarted = false;
  /** Registered by defer(). */
  readonly steps: Step[] = [];
  /** The label of the one that runs, or ran last. */
  step: string | undefined;
  /** Called when everything is over. */
  readonly atEnd: (() => void)[] = [];
  /** Whether it sees the connections of all servers of the process. */
  watchesConnections = false;
  /** Whether anything was ever attached, handled, tracked, deferred or registered. */
  used = false;
  /** The work that was in flight when the shutdown was forced. */
  readonly cut: Set<InFlight> = new Set();
  /** Whether the service has started; until then, a shutdown that nothing was tied to yet is not worth a warning. */
  started: boolean;
  /** Resolves when everything is over, with what was registered after that. */
  finished!: Promise<ShutdownReport>;
  /** Errors for the report. */
  readonly errors: unknown[] = [];
  readonly settings: ShutdownSettings;

  constructor(settings: ShutdownSettings) {
    this.settings = settings;
    this.started = settings.ready;
  }

  /** Whether clients are sent away from the signal on, while new connections are still accepted. */
  get hasDelay(): boolean {
    return this.settings.delay !== 0;
  }

  /** Value of the Retry-After header. */
  get retryAfter(): string {
    return String(Math.ceil(this.settings.retryAfter / 1000));
  }

  /** Whether work is counted. */
  get counts(): boolean {
    return PHASES[this.phase].counts;
  }

  /** Whether a server that is attached now goes on listening. */
  get listens(): boolean {
    return PHASES[this.phase].listens;
  }

  /** Whether a request that arrives now gets 503. */
  get refuses(): boolean {
    if (this.phase === "serving") return false; // on the path of every request, where the signals' getters cost too much
    const { refuses } = PHASES[this.phase];
    return refuses === "always" || this.forced.aborted || (refuses === "late" && this.settings.late === "refuse");
  }

  /** The labels of the work in flight, or of the given one; oldest first. */
  labels(entries: Iterable<InFlight> = this.inFlight): string[] {
    return Array.from(entries, ({ label }) => label);
  }

  /** The labels of what would be cut now: the work in flight, and the clean-up step that runs. */
  pending(): string[] {
    this.calls.sweep();
    return this.labels().concat(this.step ?? []);
  }

  /** The signal that aborts when shutdown is requested. */
  get signal(): AbortSignal {
    return (this.#ending ??= sharedController()).signal;
  }

  /** The signal that aborts when it is forced. */
  get forced(): AbortSignal {
    return (this.#forcing ??= sharedController()).signal;
  }

  /** Aborts {@linkcode signal}. Then the work that was in flight is notified; work that is added later sees the phase. */
  notify(reason: unknown): void {
    const inFlight = [...this.inFlight];
    (this.#ending ??= sharedController()).abort(reason);
    for (const entry of inFlight) if (entry.isListed) this.attempt(() => entry.onShutdown?.());
  }

  /** Aborts {@linkcode forced}; all work in flight is to be cut, also if it ends by itself at once. */
  force(reason: unknown): void {
    if (this.forced.aborted) return;
    this.calls.sweep();
    for (const entry of this.inFlight) this.cut.add(entry);
    const restore = runtime() === "deno" ? dropErrorsOfClosedServers() : undefined;
    this.#forcing!.abort(reason);
    restore?.();
  }

  /** Calls `fn`; its error goes into the report. */
  attempt(fn: () => unknown): void {
    try {
      fn();
    } catch (error) {
      this.errors.push(error);
    }
  }

  /** The same for a function that returns a promise. Never rejects; resolves to whether `forced` cancelled it. */
  async attemptLater(fn: () => unknown): Promise<boolean> {
    try {
      await fn();
    } catch (error) {
      if (isCancellation(error, this.forced)) return true;
      this.errors.push(error);
    }
    return false;
  }

  /** Work that was begun when everything was over: `finished` waits for it from here on, and has its error. */
  add(late: Promise<void>): Promise<void> {
    this.finished = Promise.all([this.finished, late.then(() => [], (error) => [error])]).then(addErrors);
    return late;
  }

  /** Resolves after `ms`, as soon as shutdown is forced, or when `unless` settles. Leaves no timer behind. */
  pause(ms: number, unless?: Promise<void>): Promise<void> {
    const signal = this.forced;
    return new Promise((resolve) => {
      if (ms <= 0 || signal.aborted) return resolve();
      const registration = onCancel({ signal, timeout: ms }, () => resolve());
      const end = () => {
        registration.end();
        resolve();
      };
      unless?.then(end, end);
    });
  }
}

/** ms that a client has to finish an exchange that is no longer waited for, so that it can read its answer. */
export const LINGER = 1000;

/** ms between two looks at servers while draining: at idle connections, and at answers whose end is not reported. */
export const LOOK = 10;

/** ms within which the run-time's next turn comes: it accepts connections, reads requests, and sends answers. */
export const TURN = 1;

/** The text of a 503. */
export const REFUSAL = "The server is shutting down.\n";

/**
 * Until the returned function is called, Deno drops what Deno.serve's listener of a signal throws if its server is closed.
 * Deno (2.9.6) dispatches exceptions by this function, first to the listeners of the process.
 */
function dropErrorsOfClosedServers(): () => void {
  const { dispatchEvent } = globalThis;
  globalThis.dispatchEvent = (event) =>
    (event as ErrorEvent).error?.name !== "BadResource" && dispatchEvent.call(globalThis, event);
  return () => globalThis.dispatchEvent = dispatchEvent;
}

/** Throws unless the invariants hold; for tests. */
export function assertSound(state: ShutdownState): void {
  const { phase, signal, announces, hasDelay, counts, listens, callbacksStarted, steps, calls, inFlight } = state;
  const rules: Record<string, boolean> = {
    "a signal before its phase": phase !== "serving" || !signal.aborted,
    "clients are sent away from an open listener": !announces || hasDelay || !listens && phase !== "settling",
    "answers are held back for ever": calls.held === undefined || counts && !listens,
    "callbacks before the listeners are closed": !callbacksStarted || !listens,
    "steps that never run": phase !== "finished" || steps.length === 0,
    "the list of work": isSound(inFlight),
  };
  const broken = Object.keys(rules).find((rule) => !rules[rule]);
  if (broken !== undefined) throw new Error(`unsound shutdown, ${phase}: ${broken}`);
}
