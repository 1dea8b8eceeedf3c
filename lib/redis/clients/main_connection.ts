/**
 * The connection of a client for commands, by the client's events, and the subscriptions that follow it.
 *
 * @module
 */

/** A client's events. */
export interface Emitter {
  on(event: string, listener: (...args: string[]) => void): unknown;
}

/**
 * Functions to call at an event of a client. The adapter listens once: Bun's client takes one listener of each event,
 * and Node warns of the eleventh, while each prefix has its own subscription.
 */
export class Callbacks extends Set<() => void> {
  call(): void {
    for (const callback of [...this]) callback();
  }
}

/** The connection of a client for commands, and the subscriptions that follow it. */
export class MainConnection {
  /** The present one; another object for each. */
  present: { since: number; heardAt?: number } = { since: -Infinity };
  /** Whether commands may have been sent over the present one. */
  #isUp = true;
  /** To call when the client is closed for good. */
  readonly onClose = new Callbacks();
  /** To call when it may lead to another server than before. */
  readonly onReconnect = new Callbacks();

  /** Called before the client sends the commands that have waited, perhaps several times. */
  begun(): void {
    this.#isUp = true;
    this.present.since = performance.now();
  }

  /** Called when a part of the server's answer to the client's greeting has come, perhaps the last one. */
  noteGreeting(): void {
    this.begun();
    this.present.heardAt = this.present.since;
  }

  /** Called when the client has lost the present one, or has failed to open the next one. */
  lost(): void {
    if (this.#isUp) this.present = { since: -Infinity };
    this.#isUp = false;
  }

  /** Opens a subscription over a connection of its own, and returns the function that ends it. */
  async follow(open: () => Promise<unknown>, close: () => void, onMoved: () => void): Promise<() => void> {
    const end = () => {
      this.onClose.delete(end);
      this.onReconnect.delete(onMoved);
      close();
    };
    this.onClose.add(end);
    await open().catch(orEnd(end));
    this.onReconnect.add(onMoved);
    return end;
  }
}

/** Handles the failure of a subscription that is being opened: ends it, and passes the error on. */
export function orEnd(end: () => void): (error: unknown) => never {
  return (error) => {
    end();
    throw error;
  };
}
