/**
 * Passes events on. Every listener sees them in the same order, also when a listener causes events itself.
 *
 * @module
 */
import type { Entry } from "./entry.ts";
import type { EventName, EventOf } from "./events.ts";
import { throwUncaught } from "./platform.ts";

/** Functions for events, and flags for further records. */
export type Listener =
  & { readonly [N in EventName]?: ((event: EventOf[N], entry: Entry) => void) | undefined }
  & {
    /** Needs callers' files and lines; a time-out's message names the holder then. */
    readonly sites?: boolean;
    /** Needs to know which `run` each wait is part of. */
    readonly frames?: boolean;
  };

type Change = readonly [EventName, EventOf[EventName], Entry];

export class Listeners {
  /** Replaced when it changes, so that a walk along it is not disturbed. */
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

  need(what: "sites" | "frames"): boolean {
    return this.#all.some((listener) => listener[what]);
  }

  notify<N extends EventName>(name: N, event: EventOf[N], entry: Entry): void {
    const change: Change = [name, Object.freeze(event), entry];
    if (this.#isNotifying) return void this.#changes.push(change);
    this.#isNotifying = true;
    for (let next: Change | undefined = change; next !== undefined; next = this.#changes.shift()) {
      const before = this.#all;
      for (const listener of before) {
        if (this.#all === before || this.#all.includes(listener)) call(listener, next); // else disposed of meanwhile
      }
    }
    this.#isNotifying = false;
  }
}

function call(listener: Listener, [name, event, entry]: Change): void {
  try {
    (listener[name] as ((event: EventOf[EventName], entry: Entry) => void) | undefined)?.(event, entry);
  } catch (error) {
    throwUncaught(error);
  }
}
