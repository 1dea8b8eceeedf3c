/** A process that stops: its connections stay open, but it runs no more commands and reads no more messages. */
import type { Backend } from "../../lib/redis/mod.ts";

export class StoppedBackend implements Backend {
  readonly #backend: Backend;
  readonly #pending = new Set<(error: Error) => void>();
  readonly #closing = new Set<() => void>();
  #stopped = false;
  closed = false;
  commands = 0;

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown> {
    this.commands++;
    return this.#stopped ? this.#never() : this.#backend.evalsha(sha, keys, args);
  }

  eval(script: string, keys: string[], args: string[]): Promise<unknown> {
    return this.#stopped ? this.#never() : this.#backend.eval(script, keys, args);
  }

  subscribe(...[channel, onMessage, ...rest]: Parameters<NonNullable<Backend["subscribe"]>>) {
    return this.#backend.subscribe!(channel, (message) => {
      if (!this.#stopped) onMessage(message);
    }, ...rest);
  }

  onClose(listener: () => void): void {
    this.#closing.add(listener);
  }

  stop(): void {
    this.#stopped = true;
  }

  /** Rejects the pending calls, so that no timer is left. */
  [Symbol.dispose](): void {
    this.#stopped = this.closed = true;
    for (const reject of this.#pending) reject(new Error("the client is closed"));
    for (const listener of this.#closing) listener();
  }

  #never(): Promise<never> {
    if (this.closed) return Promise.reject(new Error("the client is closed"));
    return new Promise((_, reject) => this.#pending.add(reject));
  }
}
