/**
 * Passes events on. Every listener sees them in the same order, even if a listener causes events itself.
 *
 * @module
 */
import type { Acquisition, Origin } from "./acquisition.ts";
import type { EventName, EventOf } from "./events.ts";
import type { Resource } from "../internal/hook.ts";
import { throwUncaught } from "../internal/platform.ts";

/** A hold released by a caller whose own acquisition was refused. */
export interface WrongRelease {
  readonly hold: Acquisition;
  readonly refused: Acquisition;
  /** The place of the release. */
  readonly origin: Origin;
}

/** Functions for events, and flags for extra records. */
export type Listener =
  & { readonly [N in EventName]?: ((event: EventOf[N], acquisition: Acquisition) => void) | undefined }
  & {
    /** Records callers' files and lines. */
    readonly sites?: boolean;
    /** Rejects calls that wait for a hold of their own `run`. */
    readonly rejects?: boolean;
    /** Records the `run` around each wait, and adds the holder to the messages of time-outs. */
    readonly frames?: boolean;
    wrongRelease?(release: WrongRelease): void;
    failRenewal?(resource: Resource): void;
  };

export class Listeners {
  /** Replaced on change, so that iterating over it is safe. */
  #all: readonly Listener[] = [];

  get size(): number {
    return this.#all.length;
  }

  add(listener: Listener): void {
    this.#all = [...this.#all, listener];
  }

  delete(listener: Listener): void {
    this.#all = this.#all.filter((one) => one !== listener);
  }

  need(what: "sites" | "frames" | "rejects"): boolean {
    return this.#all.some((listener) => listener[what]);
  }

  wrongRelease(release: WrongRelease): void {
    for (const listener of this.#all) guard(() => listener.wrongRelease?.(release));
  }

  failRenewal(resource: Resource): void {
    for (const listener of this.#all) guard(() => listener.failRenewal?.(resource));
  }

  /** A listener may dispose of another one. Events that it causes come later, because the hub notes them in order. */
  notify<N extends EventName>(name: N, event: EventOf[N], acquisition: Acquisition): void {
    Object.freeze(event);
    for (const listener of this.#all) {
      const method = listener[name] as ((event: unknown, acquisition: Acquisition) => void) | undefined;
      if (this.#all.includes(listener)) guard(() => method?.call(listener, event, acquisition));
    }
  }
}

/** Calls `step`; an error in it becomes an uncaught error. */
export function guard<T>(step: () => T): T | undefined {
  try {
    return step();
  } catch (error) {
    throwUncaught(error);
    return undefined;
  }
}
