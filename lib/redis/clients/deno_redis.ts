/**
 * The adapter for jsr:@db/redis. That client runs one command after the other and cannot do anything else on a
 * connection that listens, so push needs a second one.
 *
 * @module
 */
import { onceFor } from "../internal/once.ts";
import { type Backend, checkClient } from "./backend.ts";

/** What `denoRedis` uses of a client. */
export interface DenoRedisClient {
  /** Runs a script by its digest. */
  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown>;
  /** Runs a script by its text. */
  eval(script: string, keys: string[], args: string[]): Promise<unknown>;
  /** Whether it was closed. */
  readonly isClosed?: boolean;
  /** Tells when it was closed. */
  addEventListener?(type: "close" | "end", listener: () => void): unknown;
}

/** What `denoRedis` uses of the connection that listens. */
export interface DenoRedisSubscriber {
  /** Listens on a channel. */
  subscribe(channel: string): Promise<DenoRedisSubscription>;
  /** Tells of each new connection, and when one is gone. */
  addEventListener?(type: "connect" | "close", listener: () => void): unknown;
  /** Ends that. */
  removeEventListener?(type: "connect" | "close", listener: () => void): unknown;
}

/** What such a connection answers. */
export interface DenoRedisSubscription {
  /** All messages, for as long as the connection lasts. */
  receive(): AsyncIterable<{ readonly channel: string; readonly message: string | string[] }>;
  /** Listens on one more channel. */
  subscribe(channel: string): Promise<unknown>;
  /** Listens on one channel less. */
  unsubscribe(channel: string): Promise<unknown>;
}

/**
 * Makes a backend of clients of jsr:@db/redis. The same pair gives the same backend.
 *
 * @param client For commands; connected and closed by you.
 * @param subscriber A second connection, for nothing but messages; connected and closed by you. Without it waiting goes
 * by heartbeats: nobody is passed over, but a hand-over may take a third of the `ttl`, or a second if that is more.
 *
 * @example
 * ```ts
 * import { denoRedis, type DenoRedisClient, type DenoRedisSubscriber, RedisLock } from "@interlock/interlock/redis";
 *
 * // With `import { connect } from "@db/redis"`: ordersOf(await connect(options), await connect(options))
 * export const ordersOf = (client: DenoRedisClient, subscriber: DenoRedisSubscriber) =>
 *   new RedisLock(denoRedis(client, subscriber), "orders");
 * ```
 */
export function denoRedis(client: DenoRedisClient, subscriber?: DenoRedisSubscriber): Backend {
  checkClient(client, ["evalsha", "eval"], "jsr:@db/redis");
  if (subscriber === undefined) return deafOf(client);
  checkClient(subscriber, ["subscribe"], "jsr:@db/redis", "subscriber");
  return hearingOf(client)(subscriber);
}

const deafOf = onceFor((client: DenoRedisClient) => make(client));
const hearingOf = onceFor((client: DenoRedisClient) =>
  onceFor((subscriber: DenoRedisSubscriber) => make(client, earsOf(subscriber)))
);

function make(client: DenoRedisClient, ears?: Ears): Backend {
  return {
    evalsha: (sha, keys, args) => client.evalsha(sha, keys, args),
    eval: (script, keys, args) => client.eval(script, keys, args),
    ...ears && { subscribe: ears.subscribe.bind(ears) },
    get closed() {
      return client.isClosed === true;
    },
    onClose: (listener) => {
      const closed = () => {
        if (client.isClosed === true) listener();
      };
      client.addEventListener?.("close", closed);
      client.addEventListener?.("end", closed);
    },
  };
}

/** Whoever listens to one channel. */
interface Ear {
  onMessage(message: string): void;
  onLost?: ((forGood: boolean) => void) | undefined;
}

/**
 * One loop for each connection, for as long as the connection lasts: a second one would take half of the messages.
 */
class Ears {
  readonly #subscriber: DenoRedisSubscriber;
  // undefined implies that nobody is in #channels who has been confirmed
  #subscription: Promise<DenoRedisSubscription> | undefined;
  readonly #channels = new Map<string, Ear>();

  constructor(subscriber: DenoRedisSubscriber) {
    this.#subscriber = subscriber;
  }

  async subscribe(
    channel: string,
    onMessage: (message: string) => void,
    onGap: () => void,
    onLost?: (forGood: boolean) => void,
  ): Promise<() => Promise<void>> {
    const ear: Ear = { onMessage, onLost };
    this.#channels.set(channel, ear);
    const subscription = await this.#listen(channel, ear);
    const down = () => onLost?.(false);
    this.#subscriber.addEventListener?.("connect", onGap);
    this.#subscriber.addEventListener?.("close", down);
    return async () => {
      this.#subscriber.removeEventListener?.("connect", onGap);
      this.#subscriber.removeEventListener?.("close", down);
      this.#forget(channel, ear);
      // What came after that one may be listening to the channel again.
      if (await this.#subscription === subscription) await subscription.unsubscribe(channel);
    };
  }

  async #listen(channel: string, ear: Ear): Promise<DenoRedisSubscription> {
    try {
      if (this.#subscription === undefined) return await (this.#subscription = this.#begin(channel));
      const subscription = await this.#subscription;
      await subscription.subscribe(channel);
      return subscription;
    } catch (error) {
      this.#forget(channel, ear);
      throw error;
    }
  }

  #forget(channel: string, ear: Ear): void {
    if (this.#channels.get(channel) === ear) this.#channels.delete(channel);
  }

  async #begin(channel: string): Promise<DenoRedisSubscription> {
    try {
      const subscription = await this.#subscriber.subscribe(channel);
      void this.#receive(subscription);
      return subscription;
    } catch (error) {
      this.#subscription = undefined;
      throw error;
    }
  }

  async #receive(subscription: DenoRedisSubscription): Promise<void> {
    try {
      for await (const { channel, message } of subscription.receive()) {
        this.#channels.get(channel)?.onMessage(String(message));
      }
    } catch { /* The connection is gone. */ }
    // The next subscription starts afresh, whoever asks for it.
    this.#subscription = undefined;
    const ears = [...this.#channels.values()];
    this.#channels.clear();
    for (const { onLost } of ears) onLost?.(true);
  }
}

const earsOf = onceFor((subscriber: DenoRedisSubscriber) => new Ears(subscriber));
