/** For doubles of clients: how their commands end, and what is asserted of every adapter. */
import assert from "node:assert/strict";
import type { EventEmitter } from "node:events";
import type { Backend } from "../../../lib/redis/mod.ts";

export const works = (): Promise<number> => Promise.resolve(1);
export const fails = (): Promise<never> => Promise.reject(new Error("no connection"));

/** Subscribes without interest in what comes. */
export function subscribe(backend: Backend): Promise<() => unknown> {
  return backend.subscribe!("channel", () => {}, () => {});
}

/** Asserts that the backend names the failure of its subscribing connection, `own`, until that is back. */
export async function knowsSubscriberFailure(backend: Backend, own: EventEmitter): Promise<void> {
  const stop = await subscribe(backend);
  const failure = new Error("connect ECONNREFUSED");
  own.emit("error", failure);
  assert.equal(backend.subscriberFailure, failure);
  own.emit("ready");
  assert.equal(backend.subscriberFailure, undefined);
  await stop();
}

/** Asserts that the client has the same listeners after `fn` as before. */
export async function keepsListeners(client: EventEmitter, fn: () => Promise<unknown>): Promise<void> {
  const listeners = () => client.eventNames().map((event) => [event, client.listenerCount(event)]);
  const before = listeners();
  await fn();
  assert.deepEqual(listeners(), before);
}
