/**
 * The calls of fetch handlers: the requests in flight, and their facts that servers ask for. Invariant: a call is in flight
 * from its beginning until its answer was sent *and* its handler has ended, whichever comes last.
 *
 * @module
 */
import { BunAnswers } from "./bun.ts";
import { InFlight, requestLabel, type WorkInFlight } from "../in_flight.ts";
import { SetEvent } from "../../set_event.ts";

/** One request that a handler was called with. */
export class Call extends InFlight {
  readonly calls: FetchCalls;
  readonly request: Request;
  /** The second argument of the handler, by which the server is known. */
  readonly info: unknown;
  #label: string | undefined = undefined;
  /** When its answer was given, if that lets its connection live; by the wall clock, which costs less than the other. */
  keptAliveAt = -Infinity;
  /** Breaks off whatever it is doing. */
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

  /** Made when it is asked for: reading a request costs more than all the rest. */
  get label(): string {
    return this.#label ??= requestLabel(this.request);
  }

  override cut(): void {
    this.onCut?.();
  }

  /** It is not in flight any more. */
  end(): void {
    this.calls.inFlight.delete(this);
  }
}

/** The calls of one shutdown. */
export class FetchCalls {
  readonly inFlight: WorkInFlight;
  /** How many there were so far. */
  arrived = 0;
  /** Requests whose bodies are still coming in, where the server breaks them by stopping; part of the calls in flight. */
  readonly uploads: SetEvent<Request> = new SetEvent();
  /** Whether an upload was answered before it was read: the rest of it may still be coming in. */
  unread = false;
  /** Whether there was an answer whose end shows in the closing of the server alone. */
  untold = false;
  /** Whether answers count as sent while the run-time still has them: it hands them to the system in its next turn. */
  lagging = false;
  /** Those that Bun is sending answers to. */
  readonly bun: BunAnswers = new BunAnswers();
  /** Whether a handler was wrapped. */
  wrapped = false;
  /** Whether a server of this kind was attached, and will be closed. */
  isAttached = false;
  /** Number of those that listen. */
  listening = 0;
  /** The latest `keptAliveAt`. */
  keptAliveAt = -Infinity;
  /** While it is set, answers wait for it. */
  held: Promise<void> | undefined = undefined;

  constructor(inFlight: WorkInFlight) {
    this.inFlight = inFlight;
  }

  /** Whether answers are being sent that were given after that time and let their connections live. */
  keepsAlive(since: number): boolean {
    for (const entry of this.inFlight) if (entry instanceof Call && entry.keptAliveAt >= since) return true;
    return false;
  }

  /** Ends the calls whose answers were sent in the meantime: comes before every look at the work in flight. */
  sweep(): void {
    this.bun.sweep();
  }
}

/** The abilities of an attached server with a fetch-style handler; deno.ts and bun.ts state those of theirs. */
export interface Abilities {
  /** Stops listening; closes every connection if `force` is set. */
  stop(force: boolean): Promise<void> | void;
  /** Whether the server knows that nothing is in flight. */
  isQuiet?(): boolean;
  /** Whether stopping breaks uploads that are still coming in. */
  readonly breaksUploads?: boolean;
}
