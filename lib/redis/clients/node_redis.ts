/**
 * The adapter for npm:redis (node-redis 5 and 6): a client, a pool's client, a cluster or a sentinel-less single node.
 *
 * @module
 */
import { onceFor } from "../internal/once.ts";
import { type Backend, checkClient } from "./backend.ts";

/** What `nodeRedis` uses of a client. */
export interface NodeRedisClient {
  /** Runs a script by its digest. */
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  /** Runs a script by its text. */
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  /** A second connection with the same settings. */
  duplicate(): object;
  /** Whether it was connected, and not closed since. */
  readonly isOpen: boolean;
}

interface Subscriber {
  on(event: string, listener: (error?: unknown) => void): unknown;
  off(event: string, listener: () => void): unknown;
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  destroy(): void;
  unref?(): void;
  readonly isOpen: boolean;
  readonly isReady: boolean;
}

/**
 * Makes a backend of a client of npm:redis. The same client gives the same backend.
 *
 * @param client From `createClient` or `createCluster`, connected by you, closed by you, with an `error` listener.
 *
 * @example
 * ```ts
 * import { nodeRedis, RedisLock } from "@interlock/interlock/redis";
 * import { createClient } from "redis";
 *
 * const client = createClient({ url: "redis://127.0.0.1:6379" }); // connect it before use
 * export const lock = new RedisLock(nodeRedis(client), "orders");
 * ```
 */
export function nodeRedis(client: NodeRedisClient): Backend {
  return backendOf(client);
}

const backendOf = onceFor((client: NodeRedisClient): Backend => {
  checkClient(client, ["evalSha", "eval", "on"], "npm:redis");
  // Only a cluster has a list of masters.
  const cluster = "masters" in client;
  const events = client as unknown as Subscriber;
  return {
    evalsha: (sha, keys, args) => client.evalSha(sha, { keys, arguments: args }),
    eval: (script, keys, args) => client.eval(script, { keys, arguments: args }),
    subscribe: (channel, onMessage, onGap, onLost) =>
      cluster
        ? subscribeCluster(events, channel, onMessage, onGap)
        : subscribe(client, channel, onMessage, onGap, onLost),
    cluster,
    get closed() {
      return !client.isOpen;
    },
    onClose: (listener) => void events.on(cluster ? "disconnect" : "end", listener),
  };
});

/**
 * A cluster client opens a connection for subscriptions by itself, and closes it. It does not tell when that one is
 * down, and need not: nobody is passed over in a cluster for not being told.
 */
async function subscribeCluster(
  cluster: Subscriber,
  channel: string,
  onMessage: (message: string) => void,
  onGap: () => void,
): Promise<() => Promise<void>> {
  await cluster.subscribe(channel, onMessage);
  cluster.on("node-ready", onGap);
  return async () => {
    cluster.off("node-ready", onGap);
    await cluster.unsubscribe(channel);
  };
}

async function subscribe(
  client: NodeRedisClient,
  channel: string,
  onMessage: (message: string) => void,
  onGap: () => void,
  onLost?: (forGood: boolean) => void,
): Promise<() => void> {
  const own = client.duplicate() as Subscriber;
  const end = () => {
    (client as unknown as Subscriber).off("end", end);
    if (own.isOpen) own.destroy();
  };
  own.on("error", () => {}); // without a listener it would end the process; it reconnects by itself
  (client as unknown as Subscriber).on("end", end);
  try {
    await own.connect();
    own.unref?.();
    await own.subscribe(channel, onMessage);
  } catch (error) {
    end();
    throw error;
  }
  // An error comes with each connection that broke or failed; no longer open, it has given up.
  own.on("error", () => {
    if (!own.isReady) onLost?.(!own.isOpen);
  });
  // It has subscribed again by then.
  own.on("ready", onGap);
  return end;
}
