/**
 * The state that the parts of GracefulShutdown share: the work in flight, and how far the shutdown has come.
 *
 * @module
 */
import { onCancel } from "../internal/cancellation.ts";
import { Arrivals } from "./accept_queue.ts";
import { SetEvent } from "../set_event.ts";

/** A piece of work that the drain waits for. */
export interface InFlight {
  /** Its name in the report if it has to be cut. */
  label: string;
  /** Notifies it that shutdown was requested. */
  onShutdown?: () => void;
  /** Ends it, because the shutdown is forced. */
  cut?: () => void;
}

/**
 * serving: shutdown was not requested. delaying: it was, and new connections are still accepted. draining: the listeners
 * are closed, each connection gets one last answer. closed: the drain is over, nothing is counted any more.
 */
export type Phase = "serving" | "delaying" | "draining" | "closed";

/** A server that was attached. */
export interface AttachedServer {
  /** Number of connections that were accepted so far, where it is known. */
  readonly accepted: number;
  /** Whether new connections are likely to be arriving at this moment. */
  isBusy(): boolean;
  /** Called at the signal: from here on `server.close()` leaves the connections alone, also a framework's call. */
  begin(): void;
  /** Closes the listening socket, and lets each connection go after its last answer. */
  stopListening(): void;
  /** Called every few ms while draining: closes connections that are idle. */
  sweep(): void;
  /** Resolves when the last connection is closed. Called while nothing is in flight. */
  close(): Promise<void>;
  /** Closes what is still open at once. Returns labels for connections that are not in flight and yet were cut. */
  cut(): string[];
}

/** A function of the user, to be called in the course of the shutdown. */
export interface Step {
  readonly label: string;
  readonly fn: (signal: AbortSignal) => unknown;
}

/** The shared state. */
export class ShutdownState {
  // phase only goes forward. phase !== "serving" implies ending.signal.aborted or about to be, in the same step.
  phase: Phase = "serving";
  readonly ending: AbortController = new AbortController();
  readonly forcing: AbortController = new AbortController();
  readonly inFlight: SetEvent<InFlight> = new SetEvent();
  /** Requests whose bodies are still coming in, where the server breaks them by stopping; part of the work in flight. */
  readonly uploads: SetEvent<Request> = new SetEvent();
  readonly servers: AttachedServer[] = [];
  /** Registered by onShutdown(). */
  readonly callbacks: Step[] = [];
  callbacksStarted = false;
  /** Registered by defer(). */
  readonly steps: Step[] = [];
  /** Called when everything is over. */
  readonly atEnd: (() => void)[] = [];
  /** Whether anything was ever attached, handled, tracked, deferred or registered. */
  used = false;
  /** The requests that the handler was called with and no attached server counts. */
  readonly handled: Arrivals = new Arrivals();
  /** Answers of the handler that are still being sent and let their connections live. */
  readonly keepingAlive: Set<InFlight> = new Set();
  /** Time of the last complete answer of the handler that let its connection live; on the monotonic clock. */
  keptAliveAt: number = -Infinity;
  /** Whether the attached servers were asked to stop listening. */
  listenersClosed = false;
  /** Errors for the report. */
  readonly errors: unknown[] = [];
  /** ms of silence after which a connection counts as idle. */
  readonly idle: number;
  /** Value of the Retry-After header. */
  readonly retryAfter: string;
  readonly #refusesLate: boolean;
  /** The request that an attached node:http server is passing to its listeners at this moment. */
  dispatching: InFlight | undefined = undefined;

  constructor(settings: { idle: number; retryAfter: number; late: "serve" | "refuse" }) {
    this.idle = settings.idle;
    this.retryAfter = String(Math.ceil(settings.retryAfter / 1000));
    this.#refusesLate = settings.late === "refuse";
  }

  /** Whether a request that arrives now gets 503. */
  get refuses(): boolean {
    return this.phase === "closed" || this.forcing.signal.aborted || (this.#refusesLate && this.phase === "draining");
  }

  /** The labels of the work in flight, oldest first. */
  labels(): string[] {
    return Array.from(this.inFlight, (entry) => entry.label);
  }

  /** Calls `fn`; its error goes into the report. */
  attempt(fn: (() => unknown) | undefined): void {
    try {
      fn?.();
    } catch (error) {
      this.errors.push(error);
    }
  }

  /** The same for a function that returns a promise. Returns a promise that never rejects. */
  async attemptLater(fn: () => unknown): Promise<void> {
    try {
      await fn();
    } catch (error) {
      this.errors.push(error);
    }
  }

  /** Aborts {@linkcode forcing}. */
  force(reason: unknown): void {
    // Deno.serve's listener of this signal throws if its server is closed already, which would end the process.
    const ignoreClosed = (event: ErrorEvent) => {
      if ((event.error as Error | undefined)?.name === "BadResource") event.preventDefault();
    };
    globalThis.addEventListener?.("error", ignoreClosed);
    this.forcing.abort(reason);
    globalThis.removeEventListener?.("error", ignoreClosed);
  }

  /** Resolves after `ms`, as soon as shutdown is forced, or when `unless` settles. Leaves no timer behind. */
  pause(ms: number, unless?: Promise<void>): Promise<void> {
    const { signal } = this.forcing;
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

/** The text of a 503. */
export const REFUSAL = "The server is shutting down.\n";

/** The label of a request: the caller's own, or method and path. */
export function requestLabel<R extends { readonly method?: string | undefined; readonly url?: string | undefined }>(
  request: R,
  own: ((request: R) => string) | undefined,
): string {
  try {
    if (own !== undefined) return own(request);
  } catch { /* a label that throws must not fail the request */ }
  const { method = "?", url = "?" } = request;
  return `${method} ${url.replace(/^[a-z][a-z+.-]*:\/\/[^/]*/i, "").replace(/[?#].*$/, "") || "/"}`;
}
