/**
 * The adapter for npm:ioredis (5 and 6): a single server, Sentinel or Cluster.
 *
 * @module
 */
import { UnansweredError, withoutArguments } from "../errors.ts";
import { adapter, checkClient, checkPush, refuse } from "./adapter.ts";
import type { Backend, ClientOptions, OwnBackend, Subscribe } from "./backend.ts";
import { type Emitter, MainConnection, orEnd } from "./main_connection.ts";

/** The members of a client that `ioRedis` uses. */
export interface IoRedisClient {
  /** Runs a script by its digest. */
  evalsha(sha: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Runs a script by its text. */
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Creates a second connection with the same settings, except those that you pass. */
  duplicate(override?: object): object;
  /** The state of the connection; "end" means closed for good. */
  readonly status: string;
}

/** The stream of a client's connection. */
interface Stream {
  cork?(): void;
  uncork?(): void;
}

/** Further members of clients and their duplicates that the adapter uses. */
interface Connection extends Emitter {
  readonly isCluster?: boolean;
  /** The commands of a cluster client that wait for a retry. */
  readonly delayQueue?: { readonly queues?: { readonly tryagain?: unknown; readonly clusterdown?: unknown } };
  readonly status: string;
  readonly stream?: Stream & { unref?(): void; prependListener?(event: "data", listener: () => void): void };
  listenerCount?(event: string): number;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  disconnect(): void;
}

/**
 * Creates a backend from a client of npm:ioredis. The same client gives the same backend.
 *
 * @param client A `Redis` (Sentinel included) or a `Cluster`, with an `error` listener. You close it.
 * @param options Whether to use push.
 * @throws {TypeError} when `client` is not a client of npm:ioredis, or cannot subscribe.
 *
 * @example
 * ```ts
 * import { ioRedis, RedisLock } from "@interlock/interlock/redis";
 * import { Redis } from "ioredis";
 *
 * const client = new Redis("redis://127.0.0.1:6379", { lazyConnect: true });
 * export const lock = new RedisLock(ioRedis(client), "orders");
 * ```
 */
export function ioRedis(client: IoRedisClient, options?: ClientOptions): Backend {
  return backendOf(client, options);
}

const backendOf = adapter((client: IoRedisClient, usesPush): Backend => {
  checkClient(client, ["evalsha", "eval", "on"], "npm:ioredis");
  if ("send_command" in client && !("status" in client)) refuse(client, "npm:ioredis"); // redis 3 has the same methods
  checkPush(client, usesPush, ["duplicate"]);
  const connection = client as unknown as Connection;
  const cluster = connection.isCluster === true;
  const cork = new Cork();
  const main = new MainConnection();
  let failure: unknown;
  const setFailure = (error?: unknown) => void (failure = error);
  const noteSubscriber = (error?: unknown) => void (backend.subscriberFailure = withoutArguments(error));
  const backend: OwnBackend = {
    evalsha: (sha, keys, args) => {
      cork.hold(connection.stream);
      return client.evalsha(sha, keys.length, ...keys, ...args);
    },
    eval: (script, keys, args) => client.eval(script, keys.length, ...keys, ...args),
    ...usesPush && { subscribe: cluster ? clusterSubscriber(connection) : subscriber(client, main, noteSubscriber) },
    library: "npm:ioredis",
    cluster,
    get connection() {
      return cluster ? undefined : main.present;
    },
    get failure() {
      return heldBackError(connection) ?? failure;
    },
    losses: 0,
    get closed() {
      return client.status === "end";
    },
    onClose: (listener) => void main.onClose.add(listener),
  };
  connection.on("end", () => main.onClose.call());
  noteFailures(connection, setFailure);
  if (cluster) noteClusterFailures(connection, setFailure);
  noteLosses(connection, main, () => backend.losses!++);
  return backend;
});

/**
 * A cluster client of ioredis (5 and 6) retries a command after one of these errors up to 16 times, 100 ms apart,
 * before it reports the error. To a call that ends sooner, the server seems silent. The command may still run.
 */
const HELD_BACK = {
  tryagain: "the slot of a name is being moved (ioredis tries again after TRYAGAIN)",
  clusterdown: "the cluster is down (ioredis tries again after CLUSTERDOWN)",
} as const;

/** It reconnects without an event when its ready check fails. */
const NOT_READY =
  "the cluster is down (CLUSTERDOWN), or its state cannot be read: ioredis is not ready before CLUSTER INFO " +
  "shows that it is fine";

type SetFailure = (error?: unknown) => void;

function noteFailures(connection: Connection, note: SetFailure): void {
  connection.on("error", (error) => {
    withoutArguments(error);
    const { stack = error, lastNodeError = error } = Object(error) as { stack?: string; lastNodeError?: unknown };
    note(lastNodeError); // rather than the cluster's "Failed to refresh slots cache."
    // As ioredis does if the application has no listener. Only the stack, because other members may hold secrets.
    if (connection.listenerCount?.("error") === 1) console.error("[ioredis] Unhandled error event:", stack);
  });
  connection.on("ready", () => note());
}

function noteClusterFailures(connection: Connection, note: SetFailure): void {
  let isConnected = false; // connected but not ready
  connection.on("connect", () => isConnected = true);
  connection.on("ready", () => isConnected = false);
  connection.on("close", () => {
    if (isConnected) note(new UnansweredError(NOT_READY));
    isConnected = false;
  });
}

/** Why a cluster client sends no command, or sends it again later. */
function heldBackError({ delayQueue }: Connection): UnansweredError | undefined {
  const { tryagain, clusterdown } = delayQueue?.queues ?? {};
  if (!tryagain && !clusterdown) return undefined;
  return new UnansweredError(HELD_BACK[tryagain ? "tryagain" : "clusterdown"]);
}

function noteLosses(connection: Connection, main: MainConnection, onLoss: () => void): void {
  if (connection.isCluster === true) return void connection.on("-node", onLoss);
  let isUp = connection.status === "ready";
  connection.on("connecting", () => main.begun());
  // ioredis sends the commands that have waited as soon as it has read the last answer to its greeting, before its
  // event. Each part of an answer may be the last one.
  connection.on("connect", () => {
    connection.stream?.prependListener?.("data", () => {
      if (connection.status === "connect") main.noteGreeting();
    });
  });
  connection.on("ready", () => {
    isUp = true;
    main.onReconnect.call(); // the first one finds no subscription: waiters begin them once the server has answered
  });
  connection.on("close", () => {
    if (!isUp) return; // it has failed to connect
    isUp = false;
    main.lost();
    onLoss();
  });
}

/**
 * The adapter subscribes before the connection is up, which needs an offline queue. It also subscribes again after each
 * reconnection: if ioredis did, the error of another lost connection would never be caught.
 */
const DUPLICATE_OPTIONS = { enableOfflineQueue: true, autoResubscribe: false };

function subscriber(client: IoRedisClient, main: MainConnection, setFailure: SetFailure): Subscribe {
  return async (channel, onMessage, onGap, onEnd = () => {}) => {
    const duplicate = client.duplicate(DUPLICATE_OPTIONS) as Connection;
    duplicate.on("error", setFailure); // it reconnects by itself
    duplicate.on("ready", () => setFailure());
    duplicate.on("connect", () => duplicate.stream?.unref?.());
    duplicate.on("message", (_, message) => onMessage(message!));
    const open = async () => {
      await duplicate.subscribe(channel);
      duplicate.on("ready", resubscriber(duplicate, channel, onGap));
      duplicate.on("end", onEnd); // its settings forbid to connect again
    };
    const close = () => {
      if (duplicate.status !== "end") duplicate.disconnect(); // on a connection that has ended it would set a timer
    };
    return await main.follow(open, close, onEnd);
  };
}

/** "ready" comes before a connection has subscribed again: subscribing once more resolves when that is done. */
function resubscriber(connection: Connection, channel: string, onGap: () => void): () => void {
  return () => void connection.subscribe(channel).then(onGap, () => {});
}

/**
 * A cluster client has its own connection for subscriptions, and subscribes again itself. It has no event for the loss
 * of that connection, and needs none: in a cluster no waiter is skipped as unreachable.
 */
function clusterSubscriber(cluster: Connection): Subscribe {
  const channels = new Map<string, { onMessage(message: string): void; onGap(): void }>();
  cluster.on("message", (channel, message) => channels.get(channel!)?.onMessage(message!));
  for (const event of ["+node", "-node", "ready"]) cluster.on(event, () => channels.forEach(({ onGap }) => onGap()));
  return async (channel, onMessage, onGap) => {
    const end = () => channels.delete(channel);
    channels.set(channel, { onMessage, onGap: resubscriber(cluster, channel, onGap) });
    await cluster.subscribe(channel).catch(orEnd(end));
    return async () => {
      end();
      await cluster.unsubscribe(channel);
    };
  };
}

/** Combines the commands of one turn of the event loop into one write; ioredis makes a system call for each command. */
export class Cork {
  /** The stream that is corked until the end of this turn. */
  #stream: Stream | undefined;

  /** Call it before each command, with the stream to which the command will be written. */
  hold(stream: Stream | null | undefined): void {
    if (!stream?.cork || stream === this.#stream) return;
    this.#stream = stream;
    stream.cork();
    // A fake `queueMicrotask` would hold the commands back.
    void Promise.resolve().then(() => {
      this.#stream = undefined;
      stream.uncork?.(); // as often as it was corked
    });
  }
}
