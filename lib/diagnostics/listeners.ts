/**
 * The functions that the hub calls for events. Every listener sees them in the same order, even if a listener causes
 * events itself.
 *
 * @module
 */
import type { Acquisition, CallOrigin } from "./acquisition.ts";
import type { Observer } from "./events.ts";
import type { Resource } from "../internal/hook.ts";
import { throwUncaught } from "../internal/platform.ts";

/** A hold released by a caller whose own acquisition was refused. */
export interface WrongRelease {
  readonly hold: Acquisition;
  readonly refused: Acquisition;
  /** The place of the release. */
  readonly origin: CallOrigin;
}

/** Functions for events, which get the acquisition as the call, and flags for extra records. */
export interface Listener extends Observer {
  /** Whether to record callers' files and lines. */
  readonly sites?: boolean;
  /** Whether to reject calls that wait for a hold of their own `run`. */
  readonly rejects?: boolean;
  /** Whether to record the `run` around each wait, which also adds the holder to the messages of time-outs. */
  readonly runs?: boolean;
  wrongRelease?(release: WrongRelease): void;
  failRenewal?(resource: Resource): void;
}

/** The functions of a listener. */
export type Methods = Required<Omit<Listener, "sites" | "rejects" | "runs">>;

/** Calls `fn`. An error in it becomes an uncaught error. */
export function withoutThrowing<T>(fn: () => T): T | undefined {
  try {
    return fn();
  } catch (error) {
    throwUncaught(error);
  }
}
