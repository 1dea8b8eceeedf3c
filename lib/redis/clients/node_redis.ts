/**
 * The adapter for npm:redis (node-redis 5 and 6): a client, a cluster, or a Sentinel's client of version 6; a pool and
 * a Sentinel's client of version 5 without push.
 *
 * @module
 */
import { must } from "../../internal/check.ts";
import { StateError } from "../errors.ts";
import { adapter, checkClient, checkPush, refuse } from "./adapter.ts";
import type { Backend, ClientOptions, OwnBackend, Subscribe } from "./backend.ts";
import { type Emitter, MainConnection } from "./main_connection.ts";

/** The members of a client that `nodeRedis` uses. */
export interface NodeRedisClient {
  /** Runs a script by its digest. */
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  /** Runs a script by its text. */
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  /** A second connection with the same settings, for push. */
  duplicate?(): object;
  /** Whether it was connected and not closed. */
  readonly isOpen: boolean;
}

interface Client extends Emitter {
  listenerCount?(event: string): number;
  connect(): Promise<unknown>;
  sendCommand(args: string[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  destroy(): void;
  unref?(): void;
  readonly isOpen: boolean;
  readonly isReady: boolean;
  readonly options?: { readonly commandOptions?: { readonly timeout?: number } };
  withCommandOptions?(options: object): object;
}

/**
 * Creates a backend from a client of npm:redis. The same client gives the same backend.
 *
 * @param client From `createClient` or `createCluster`, connected by you, closed by you, with an `error` listener. A
 * pool (`createClientPool`) and `createSentinel` of version 5 cannot subscribe, so they need `{ push: false }`.
 * @param options Whether to use push.
 * @throws {TypeError} when `client` is not a client of npm:redis, is of version 4, or cannot subscribe.
 *
 * @example
 * ```ts
 * import { nodeRedis, RedisLock } from "@interlock/interlock/redis";
 * import { createClient } from "redis";
 *
 * // Connect it before use:
 * const client = createClient({ url: "redis://127.0.0.1:6379" });
 * export const lock = new RedisLock(nodeRedis(client), "orders");
 * ```
 */
export function nodeRedis(client: NodeRedisClient, options?: ClientOptions): Backend {
  return backendOf(client, options);
}

const LIBRARY = "npm:redis";

/** The client was never connected, so no command was sent. */
const NOT_CONNECTED = "the client is not connected; call `await client.connect()` first";

const backendOf = adapter((client: NodeRedisClient, usesPush): Backend => {
  checkClient(client, ["evalSha", "eval", "on"], LIBRARY);
  if ("disconnect" in client && !("destroy" in client)) refuse(client, LIBRARY); // version 4
  // Only a cluster lists masters, only a Sentinel client knows Sentinels, and only a pool counts clients.
  const [isCluster, isSentinel] = ["masters" in client, "getSentinelNode" in client];
  const isSingle = !isCluster && !isSentinel && !("totalClients" in client);
  checkSentinel(client, usesPush && isSentinel);
  checkPush(client, usesPush, ["subscribe"]);
  const events = client as unknown as Client;
  const quickClient = isSingle ? withoutTimeouts(events) : client;
  const targetClient = () => events.isReady ? quickClient : client;
  const setFailure = (error: unknown) => backend.subscriberFailure = error;
  let wasOpen = client.isOpen;
  const send = (command: () => Promise<unknown>) => {
    wasOpen ||= client.isOpen;
    if (!wasOpen) return Promise.reject(new StateError(NOT_CONNECTED));
    const answer = command();
    // Clusters, pools and version 5's Sentinel clients have no event for a reconnection.
    if (backend.failure !== undefined) answer.then(() => backend.failure = undefined, () => {});
    return answer;
  };
  const main = new MainConnection();
  const backend: OwnBackend = {
    evalsha: (sha, keys, args) => send(() => targetClient().evalSha(sha, { keys, arguments: args })),
    eval: (script, keys, args) => send(() => targetClient().eval(script, { keys, arguments: args })),
    ...usesPush && { subscribe: isCluster ? clusterSubscriber(events, main) : subscriber(client, main, setFailure) },
    library: LIBRARY,
    get connection() {
      return isSingle ? main.present : undefined;
    },
    cluster: isCluster,
    get closed() {
      return !client.isOpen;
    },
    onClose: (listener) => void main.onClose.add(listener),
  };
  events.on("error", (error: unknown) => {
    backend.failure = error;
    // Without a listener of the application, this ends the process, as it would without this listener.
    if (events.listenerCount?.("error") === 1) throw error;
  });
  events.on("ready", () => {
    backend.failure = undefined;
    main.onReconnect.call();
  });
  events.on("node-ready", () => main.onReconnect.call());
  events.on(isCluster ? "disconnect" : "end", () => main.onClose.call());
  events.on("connect", () => main.begun()); // queued commands are sent with the greeting
  events.on("reconnecting", () => main.lost());
  return backend;
});

/** In version 5 it has neither `duplicate` nor an event for a subscription that has moved to another server. */
function checkSentinel(client: object, pushes: boolean): void {
  const remedy = "install redis 6 or use ioredis, or pass { push: false } to do without";
  const rule = `be one that can subscribe, which createSentinel of npm:redis 5 cannot: ${remedy}`;
  must(!pushes || "duplicate" in client, "client", rule, client);
}

/**
 * The client without timeouts for commands that are sent at once. node-redis 6 gives each command an AbortSignal for
 * the time before it is sent, which doubles its cost. A timeout set by the application is kept.
 */
function withoutTimeouts(client: Client): NodeRedisClient {
  const options = client.options?.commandOptions;
  const untimed = options?.timeout === undefined && client.withCommandOptions?.({ ...options, timeout: undefined });
  return (untimed || client) as unknown as NodeRedisClient;
}

/**
 * A cluster client opens and closes its own connection for subscriptions. It has no event for the loss of that
 * connection, and needs none: in a cluster no waiter is skipped as unreachable.
 */
function clusterSubscriber(cluster: Client, { onReconnect }: MainConnection): Subscribe {
  return async (channel, onMessage, onGap) => {
    await cluster.subscribe(channel, onMessage);
    onReconnect.add(onGap);
    return async () => {
      onReconnect.delete(onGap);
      await cluster.unsubscribe(channel);
    };
  };
}

function subscriber(client: NodeRedisClient, main: MainConnection, setFailure: (error?: unknown) => void): Subscribe {
  return async (channel, onMessage, onGap, onEnd = () => {}) => {
    const duplicate = client.duplicate!() as Client;
    duplicate.on("error", setFailure); // without a listener it would end the process; it reconnects by itself
    duplicate.on("ready", () => setFailure());
    const open = async () => {
      await duplicate.connect();
      duplicate.unref?.();
      await duplicate.subscribe(channel, onMessage);
      // Each broken or failed connection emits an error. A client that is no longer open does not reconnect.
      duplicate.on("error", () => duplicate.isOpen || onEnd());
      duplicate.on("ready", onGap); // it has subscribed again by then
    };
    return await main.follow(open, () => duplicate.isOpen && duplicate.destroy(), onEnd);
  };
}
