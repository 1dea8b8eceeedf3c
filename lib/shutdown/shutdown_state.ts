/**
 * What the rooms of GracefulShutdown share: who is in flight, and how far the shutdown has come.
 *
 * @module
 */
import { Event } from "../event.ts";
import { SetEvent } from "../set_event.ts";

/** Something that the drain waits for. */
export interface Entry {
  /** How the report calls it if it has to be cut. */
  readonly label: string;
  /** Tells it that shutdown was asked for. */
  tell?: () => void;
  /** Ends it, because the time is over. */
  cut?: () => void;
}

/**
 * serving: nothing was asked for. leaving: newcomers are still served, and told to close their connections. draining:
 * newcomers are refused. closed: nothing is counted any more.
 */
export type Phase = "serving" | "leaving" | "draining" | "closed";

/** A server that was attached. */
export interface AttachedServer {
  /** Newcomers are refused from now on. */
  refuse(): void;
  /** Everything counted is done: stops listening, and resolves when the last connection is closed. */
  close(): Promise<void>;
  /** The time is over: closes at once what is still open. Returns labels for what is not in flight and yet was cut. */
  cut(): string[];
}

/** The state in common. */
export class Desk {
  // phase only goes forward. phase !== "serving" implies ending.signal.aborted.
  phase: Phase = "serving";
  readonly ending: AbortController = new AbortController();
  readonly forcing: AbortController = new AbortController();
  readonly inFlight: SetEvent<Entry> = new SetEvent();
  /** What went wrong on the way, for the report. */
  readonly errors: unknown[] = [];
  /** ms that a connection has to be silent in order to count as idle. */
  readonly idle: number;
  /** What the Retry-After header says. */
  readonly retryAfter: string;
  /** When the last answer went out that let its connection live; on the monotonic clock. */
  keptAliveAt: number = -Infinity;

  constructor(idle: number, retryAfter: number) {
    this.idle = idle;
    this.retryAfter = String(Math.ceil(retryAfter / 1000));
  }

  /** Whether newcomers get 503. */
  get refuses(): boolean {
    return this.phase === "draining" || this.phase === "closed";
  }

  /** The labels of what is in flight, oldest first. */
  labels(): string[] {
    return Array.from(this.inFlight, (entry) => entry.label);
  }

  /** What one of them throws keeps nobody from the others. */
  attempt(fn: (() => unknown) | undefined): void {
    try {
      fn?.();
    } catch (error) {
      this.errors.push(error);
    }
  }

  /** Aborts {@linkcode forcing}. A listener's error about a server that is closed already is nobody's business. */
  force(reason: unknown): void {
    // Deno.serve throws it out of its listener, which would end the process.
    const hush = (event: ErrorEvent) => {
      if ((event.error as Error | undefined)?.name === "BadResource") event.preventDefault();
    };
    globalThis.addEventListener?.("error", hush);
    this.forcing.abort(reason);
    globalThis.removeEventListener?.("error", hush);
  }

  /** Resolves after `ms`, as soon as shutdown is forced, or when `unless` is fulfilled. Leaves no timer behind. */
  async pause(ms: number, unless?: Promise<void>): Promise<void> {
    if (ms <= 0) return;
    const over = new Event();
    void unless?.then(() => over.set());
    await over.wait({ timeout: ms, signal: this.forcing.signal }).catch(() => {});
  }
}

/** ms that a client gets to finish what nobody waits for any more, so that it gets to read its answer. */
export const LINGER = 1000;

/** The text of a refusal. */
export const REFUSAL = "The server is shutting down.\n";

/** The words for a request in labels: the user's own, or method and path. */
export function requestLabel<R extends { readonly method?: string | undefined; readonly url?: string | undefined }>(
  request: R,
  own: ((request: R) => string) | undefined,
): string {
  try {
    if (own !== undefined) return own(request);
  } catch { /* a label is not worth a request */ }
  const { method = "?", url = "?" } = request;
  return `${method} ${url.replace(/^[a-z][a-z+.-]*:\/\/[^/]*/i, "").replace(/[?#].*$/, "") || "/"}`;
}
