/**
 * Stands in for a client of jsr:@db/redis, which cannot be had from npm, and behaves as that client does where it
 * matters: one command after the other, errors with the leading dash of the protocol, a subscription on a connection
 * of its own, with one receiving loop.
 */
import type { DenoRedisClient, DenoRedisSubscriber, DenoRedisSubscription } from "../../../lib/redis/mod.ts";
import { Wire } from "../_wire.ts";

interface Message {
  readonly channel: string;
  readonly message: string;
}

export class DenoRedisDouble implements DenoRedisClient, DenoRedisSubscriber {
  readonly #wire: Wire;
  #last: Promise<unknown> = Promise.resolve();
  readonly #closing: (() => void)[] = [];

  private constructor(wire: Wire) {
    this.#wire = wire;
  }

  static async connect(port: number): Promise<DenoRedisDouble> {
    return new DenoRedisDouble(await Wire.connect(port));
  }

  get isClosed(): boolean {
    return this.#wire.closed;
  }

  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown> {
    return this.#send("EVALSHA", sha, keys.length, ...keys, ...args);
  }

  eval(script: string, keys: string[], args: string[]): Promise<unknown> {
    return this.#send("EVAL", script, keys.length, ...keys, ...args);
  }

  #send(...parts: (string | number)[]): Promise<unknown> {
    const reply = this.#last.catch(() => {}).then(() => this.#wire.send(...parts));
    this.#last = reply;
    return reply;
  }

  async subscribe(channel: string): Promise<DenoRedisSubscription> {
    await this.#wire.send("SUBSCRIBE", channel);
    const wire = this.#wire;
    const waiting: ((result: IteratorResult<Message>) => void)[] = [];
    const messages: Message[] = [];
    let ended = false;
    wire.onPush = ([, from, text]) => {
      const value = { channel: String(from), message: String(text) };
      const next = waiting.shift();
      if (next) next({ done: false, value });
      else messages.push(value);
    };
    void wire.ended.then(() => {
      ended = true;
      for (const next of waiting.splice(0)) next({ done: true, value: undefined });
    });
    const next = (): Promise<IteratorResult<Message>> => {
      const value = messages.shift();
      if (value) return Promise.resolve({ done: false, value });
      if (ended) return Promise.resolve({ done: true, value: undefined });
      return new Promise((resolve) => waiting.push(resolve));
    };
    return {
      receive: () => ({ [Symbol.asyncIterator]: () => ({ next }) }),
      subscribe: (other) => wire.send("SUBSCRIBE", other),
      unsubscribe: (other) => wire.send("UNSUBSCRIBE", other),
    };
  }

  addEventListener(type: "connect" | "close" | "end", listener: () => void): void {
    if (type === "end") this.#closing.push(listener);
  }

  removeEventListener(): void {}

  async close(): Promise<void> {
    await this.#wire.close();
    for (const listener of this.#closing) listener();
  }
}
