/**
 * Stands in for a client of jsr:@db/redis, which cannot be had from npm, and behaves as that client does where it
 * matters: one command after the other, errors with the leading dash of the protocol, a subscription on a connection
 * of its own, with one receiving loop.
 */
import type { Redis } from "ioredis";
import type { DenoRedisClient, DenoRedisSubscriber, DenoRedisSubscription } from "../../../lib/redis/mod.ts";
import { closeIo, connectBare } from "../_wire.ts";

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
  readonly #client: Redis;
  #last: Promise<unknown> = Promise.resolve();
  readonly #closing: (() => void)[] = [];

  private constructor(client: Redis) {
    this.#client = client;
  }

  static async connect(port: number): Promise<DenoRedisDouble> {
    return new DenoRedisDouble(await connectBare(port));
  }

  get isClosed(): boolean {
    return this.#client.status === "end";
  }

  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown> {
    return this.#send("EVALSHA", sha, keys, args);
  }

  eval(script: string, keys: string[], args: string[]): Promise<unknown> {
    return this.#send("EVAL", script, keys, args);
  }

  #send(name: string, script: string, keys: string[], args: string[]): Promise<unknown> {
    const reply = this.#last.catch(() => {}).then(() => this.#client.call(name, script, keys.length, ...keys, ...args));
    this.#last = reply.catch((error: Error) => Promise.reject(new Error(`-${error.message}`)));
    return this.#last;
  }

  async subscribe(channel: string): Promise<DenoRedisSubscription> {
    const client = this.#client;
    await client.subscribe(channel);
    const messages = new ReadableStream<Message>({
      start(controller) {
        client.on("message", (channel, message) => controller.enqueue({ channel, message }));
        client.once("end", () => controller.close());
      },
    });
    const send = (command: "SUBSCRIBE" | "UNSUBSCRIBE", other: string) =>
      command === "SUBSCRIBE" ? client.subscribe(other) : client.unsubscribe(other);
    return subscriptionOf(messages, send);
  }

  addEventListener(type: "connect" | "close" | "end", listener: () => void): void {
    if (type === "end") this.#closing.push(listener);
  }

  removeEventListener(): void {}

  async close(): Promise<void> {
    await closeIo(this.#client);
    for (const listener of this.#closing) listener();
  }
}
