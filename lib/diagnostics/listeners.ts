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

type Change = readonly [EventName, EventOf[EventName], Acquisition];

export class Listeners {
  /** Replaced on change, so that iterating over it is safe. */
  #all: readonly Listener[] = [];
  /** Events that a listener causes wait here until the present one has reached all listeners. */
  readonly #changes: Change[] = [];
  #isNotifying = false;

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

  notify<N extends EventName>(name: N, event: EventOf[N], acquisition: Acquisition): void {
    this.#changes.push([name, Object.freeze(event), acquisition]);
    if (this.#isNotifying) return;
    this.#isNotifying = true;
    for (const next of this.#changes) {
      const before = this.#all;
      for (const listener of before) {
        if (this.#all === before || this.#all.includes(listener)) call(listener, next); // skips disposed ones
      }
    }
    this.#changes.length = 0;
    this.#isNotifying = false;
  }
}

function call(listener: Listener, [name, event, acquisition]: Change): void {
  guard(() => {
    const method = listener[name] as ((event: unknown, acquisition: Acquisition) => void) | undefined;
    method?.call(listener, event, acquisition);
  });
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
