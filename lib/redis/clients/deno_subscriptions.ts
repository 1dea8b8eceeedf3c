/**
 * The subscriptions of one connection of jsr:@db/redis. Invariant: one receiving loop for the whole life of each
 * connection, because a second loop would take half of the messages.
 *
 * @module
 */
import { pause } from "../../internal/cancellation.ts";
import { codeOf } from "../errors.ts";
import { SUBSCRIBER_NOTICES } from "../times.ts";
import type { Subscribe } from "./backend.ts";
import { orEnd } from "./main_connection.ts";

/** The members of the subscribing connection that `denoRedis` uses. */
export interface DenoRedisSubscriber {
  /** Subscribes to a channel. */
  subscribe(channel: string): Promise<DenoRedisSubscription>;
  /** Whether it was closed, or has lost its connection and is connecting again. */
  readonly isClosed?: boolean;
  /** Adds a listener for each new connection. */
  addEventListener?(type: "connect", listener: () => void): unknown;
  /** Removes it. */
  removeEventListener?(type: "connect", listener: () => void): unknown;
  /** Closes the connection. Called only before `connect`, to follow the commands to another server. */
  close?(): void;
  /** Connects again after `close`. */
  connect?(): Promise<unknown>;
}

/** A subscription of such a connection. */
export interface DenoRedisSubscription {
  /** All messages, for as long as the connection lasts. */
  receive(): AsyncIterable<{ readonly channel: string; readonly message: string | string[] }>;
  /** Subscribes to one more channel. */
  subscribe(channel: string): Promise<unknown>;
  /** Ends the subscription to one channel. */
  unsubscribe(channel: string): Promise<unknown>;
}

export class Subscriptions {
  readonly #subscriber: DenoRedisSubscriber;
  // undefined implies that no confirmed channel is in #channels
  #subscription: Promise<DenoRedisSubscription> | undefined;
  #moving: Promise<void> | undefined;
  /**
   * The server's answer to the last SUBSCRIBE, if that was an error: the client shows it to the receiving loop alone.
   */
  #refusal: unknown;
  /** The listener of each channel. */
  readonly #channels = new Map<string, { onMessage(message: string): void; onEnd(): void }>();

  constructor(subscriber: DenoRedisSubscriber) {
    this.#subscriber = subscriber;
  }

  readonly subscribe: Subscribe = async (channel, onMessage, onGap, onEnd = () => {}) => {
    const receiver = { onMessage, onEnd };
    await this.#moving;
    const refusal = this.#refusal;
    this.#refusal = undefined;
    if (refusal !== undefined) throw refusal;
    this.#channels.set(channel, receiver);
    const subscription = await this.#listen(channel).catch(orEnd(() => this.#remove(channel, receiver)));
    this.#subscriber.addEventListener?.("connect", onGap);
    return async () => {
      this.#subscriber.removeEventListener?.("connect", onGap);
      this.#remove(channel, receiver);
      // A later receiver may have subscribed to the channel again, even over the same connection.
      if (await this.#subscription !== subscription || this.#channels.has(channel)) return;
      await subscription.unsubscribe(channel);
    };
  };

  /** Reconnects after the commands may have moved to another server, so that messages come from there too. */
  move(): void {
    if (this.#subscription === undefined || this.#moving !== undefined) return;
    if (this.#subscriber.close === undefined || this.#subscriber.connect === undefined) return;
    this.#moving = this.#reconnect().finally(() => this.#moving = undefined);
  }

  async #reconnect(): Promise<void> {
    if (await this.#hasReconnected()) return;
    try {
      this.#subscriber.close?.(); // ends the receiving loop
      await this.#subscriber.connect?.();
    } catch { /* The next subscription fails, and its caller tries again. */ }
  }

  /**
   * Whether the subscriber has lost its connection as well, and so connects to the present server by itself. If it is
   * closed while it subscribes again, its error is an unhandled rejection (0.41.2).
   */
  async #hasReconnected(): Promise<boolean> {
    let isBack = false;
    const noteBack = () => void (isBack = true);
    this.#subscriber.addEventListener?.("connect", noteBack);
    await pause(SUBSCRIBER_NOTICES, undefined, false);
    this.#subscriber.removeEventListener?.("connect", noteBack);
    return isBack || this.#subscriber.isClosed === true;
  }

  async #listen(channel: string): Promise<DenoRedisSubscription> {
    if (this.#subscription === undefined) return await (this.#subscription = this.#begin(channel));
    const subscription = await this.#subscription;
    await subscription.subscribe(channel);
    return subscription;
  }

  #remove(channel: string, receiver: object): void {
    if (this.#channels.get(channel) === receiver) this.#channels.delete(channel);
  }

  async #begin(channel: string): Promise<DenoRedisSubscription> {
    const subscription = await this.#subscriber.subscribe(channel).catch(orEnd(() => this.#subscription = undefined));
    void this.#receive(subscription);
    return subscription;
  }

  async #receive(subscription: DenoRedisSubscription): Promise<void> {
    try {
      for await (const { channel, message } of subscription.receive()) {
        this.#channels.get(channel)?.onMessage(String(message));
      }
    } catch (error) {
      if (codeOf(error) !== "") this.#refusal = error; // else the connection is gone
    }
    // The next subscription starts afresh.
    this.#subscription = undefined;
    const receivers = [...this.#channels.values()];
    this.#channels.clear();
    for (const { onEnd } of receivers) onEnd();
  }
}
