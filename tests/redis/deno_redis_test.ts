/** `denoRedis` takes clients of jsr:@db/redis: what that module publishes, as far as it matters, written down here. */
import assert from "node:assert/strict";
import { denoRedis, type DenoRedisClient, type DenoRedisSubscriber } from "../../lib/redis/mod.ts";
import { test } from "../_test.ts";

type RedisValue = string | number | Uint8Array;
type Raw = string | number | null | undefined | boolean | Uint8Array | Raw[];

interface RedisPubSubMessage<TMessage> {
  pattern?: string;
  channel: string;
  message: TMessage;
}

interface RedisSubscription<TMessage extends string | string[] = string> {
  readonly isClosed: boolean;
  receive(): AsyncIterableIterator<RedisPubSubMessage<TMessage>>;
  subscribe(...channels: string[]): Promise<void>;
  unsubscribe(...channels: string[]): Promise<void>;
  close(): void;
}

interface ConnectionEventMap {
  connect: unknown;
  reconnecting: { delay: number };
  ready: unknown;
  close: unknown;
  end: unknown;
}

interface Redis {
  readonly isClosed: boolean;
  readonly isConnected: boolean;
  evalsha(hash: string, keys: string[], args: RedisValue[]): Promise<Raw>;
  eval(script: string, keys: string[], args: RedisValue[]): Promise<Raw>;
  subscribe<TMessage extends string | string[] = string>(...channels: string[]): Promise<RedisSubscription<TMessage>>;
  addEventListener<K extends keyof ConnectionEventMap>(
    type: K,
    callback: (event: CustomEvent<ConnectionEventMap[K]>) => void,
    options?: AddEventListenerOptions | boolean,
  ): void;
  removeEventListener<K extends keyof ConnectionEventMap>(
    type: K,
    callback: (event: CustomEvent<ConnectionEventMap[K]>) => void,
    options?: EventListenerOptions | boolean,
  ): void;
  close(): void;
}

test("clients of @db/redis fit, and the same pair gives the same backend", () => {
  const client = { isClosed: false } as Redis;
  const subscriber = {} as Redis;
  const asClient: DenoRedisClient = client; // checked by the compiler
  const asSubscriber: DenoRedisSubscriber = subscriber;
  assert.equal(denoRedis(client), denoRedis(asClient));
  assert.notEqual(denoRedis(client), denoRedis(client, subscriber));
  assert.equal(denoRedis(client, subscriber), denoRedis(asClient, asSubscriber));
  assert.equal(denoRedis(client).subscribe, undefined);
  assert.equal(typeof denoRedis(client, subscriber).subscribe, "function");
});
