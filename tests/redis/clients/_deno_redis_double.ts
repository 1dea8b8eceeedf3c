/**
 * Stands in for a client of jsr:@db/redis, which cannot be had from npm, and behaves as that client does where it
 * matters: one command after the other, errors with the leading dash of the protocol, a subscription on a connection
 * of its own, with one receiving loop.
 */
import type { DenoRedisClient, DenoRedisSubscriber, DenoRedisSubscription } from "../../../lib/redis/mod.ts";
import { Wire } from "../_wire.ts";

export interface Message {
  readonly channel: string;
  readonly message: string;
}

/** A subscription that receives these messages, and sends its commands by `send`. */
export function subscriptionOf(
  messages: ReadableStream<Message>,
  send: (command: "SUBSCRIBE" | "UNSUBSCRIBE", channel: string) => Promise<unknown>,
): DenoRedisSubscription {
  return {
    receive: () => messages,
    subscribe: (channel) => send("SUBSCRIBE", channel),
    unsubscribe: (channel) => send("UNSUBSCRIBE", channel),
  };
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
    const messages = new ReadableStream<Message>({
      start(controller) {
        wire.onPush = ([, from, text]) => controller.enqueue({ channel: String(from), message: String(text) });
        void wire.ended.then(() => controller.close());
      },
    });
    return subscriptionOf(messages, (command, other) => wire.send(command, other));
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
