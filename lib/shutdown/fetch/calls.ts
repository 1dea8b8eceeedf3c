/**
 * The calls of fetch handlers: the requests in flight, and the facts about them that servers need. Invariant: a call is
 * in flight until its response was sent *and* its handler has ended.
 *
 * @module
 */
import { BunAnswers } from "./bun.ts";
import { InFlight, requestLabel, type WorkInFlight } from "../in_flight.ts";
import { SetEvent } from "../../set_event.ts";

/** One call of a handler with a request. */
export class Call extends InFlight {
  readonly calls: FetchCalls;
  readonly request: Request;
  /** The second argument of the handler, which identifies the server. */
  readonly info: unknown;
  #label: string | undefined = undefined;
  /**
   * When its response was returned, if the response keeps the connection alive. On the wall clock, which is cheaper to
   * read than the monotonic one.
   */
  keptAliveAt = -Infinity;
  /** Breaks off the call's present work. */
  onCut: (() => void) | undefined = undefined;

  constructor(calls: FetchCalls, request: Request, info: unknown, label: ((request: Request) => string) | undefined) {
    super();
    this.calls = calls;
    this.request = request;
    this.info = info;
    if (label !== undefined) this.#label = requestLabel(request, label);
    calls.arrived++;
    calls.inFlight.add(this);
  }

  /** Computed on demand: reading a request costs more than everything else here. */
  get label(): string {
    return this.#label ??= requestLabel(this.request);
  }

  override cut(): void {
    this.onCut?.();
  }

  /** Ends the call: it is no longer in flight. */
  end(): void {
    this.calls.inFlight.delete(this);
  }
}

/** The calls of one shutdown. */
export class FetchCalls {
  readonly inFlight: WorkInFlight;
  /** The number of calls so far. */
  arrived = 0;
  /** Requests in flight whose bodies are still arriving, for servers that break uploads by stopping. */
  readonly uploads: SetEvent<Request> = new SetEvent();
  /** Whether the end of some response shows only when the server closes. */
  untold = false;
  /** Calls with responses that Bun is sending. */
  readonly bun: BunAnswers = new BunAnswers();
  /** Whether a handler was wrapped. */
  wrapped = false;
  /** Whether a server of this kind was attached, and will be closed. */
  isAttached = false;
  /** The latest `keptAliveAt`. */
  keptAliveAt = -Infinity;

  constructor(inFlight: WorkInFlight) {
    this.inFlight = inFlight;
  }

  /** Whether unsent responses from after `since` keep their connections alive. */
  keepsAlive(since: number): boolean {
    for (const entry of this.inFlight) if (entry instanceof Call && entry.keptAliveAt >= since) return true;
    return false;
  }

  /** Ends the calls whose responses were sent meanwhile. Call it before every check of the work in flight. */
  sweep(): void {
    this.bun.sweep();
  }
}

/** The abilities of an attached server with a fetch-style handler, stated by deno.ts and bun.ts. */
export interface Abilities {
  /** Stops listening; closes every connection if `force` is set. */
  stop(force: boolean): Promise<void> | void;
  /** Whether the server knows that nothing is in flight. */
  isQuiet?(): boolean;
  /** Whether stopping breaks uploads that are still arriving. */
  readonly breaksUploads?: boolean;
}
