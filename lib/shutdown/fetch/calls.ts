/**
 * The calls of fetch handlers: the path of a request.
 *
 * | stage    | from                                    | when forced         |
 * | -------- | --------------------------------------- | ------------------- |
 * | handling | the handler has the request             | 503 is its response |
 * | held     | its response waits during a calm turn   | it waits no longer  |
 * | sending  | the server has the response             | its body breaks off |
 *
 * Then `end`: it is no longer in flight.
 *
 * @module
 */
import { InFlight, type Labeler, requestLabel } from "../in_flight.ts";
import { isSent } from "../platform/bun.ts";
import type { ShutdownState } from "../shutdown_state.ts";

/** One call of a handler with a request. */
export class Call extends InFlight {
  readonly shutdown: ShutdownState;
  readonly request: Request;
  /** The second argument of the handler, which identifies the server. */
  readonly info: unknown;
  stage: "handling" | "held" | "sending" = "handling";
  /** Breaks off the present stage. */
  onCut: (() => void) | undefined;

  constructor(state: ShutdownState, request: Request, info: unknown, label: Labeler<Request>) {
    super(label && requestLabel(request, label));
    this.shutdown = state;
    this.request = request;
    this.info = info;
    state.handlerCalls++;
    state.inFlight.add(this);
  }

  override defaultLabel(): string {
    return requestLabel(this.request);
  }

  override isOver(): boolean {
    return this.stage === "sending" && isSent(this.request, this.info);
  }

  override cut(): void {
    this.onCut?.();
  }

  /** Ends the call: it is no longer in flight. */
  end(): void {
    this.shutdown.inFlight.delete(this);
  }
}
