/**
 * The adapter for npm:ioredis (5 and 6): a single server, Sentinel or Cluster.
 *
 * @module
 */
import { Cork } from "./io_cork.ts";
import type { Stream } from "./io_cork.ts";
import { onceFor } from "../internal/once.ts";
import { type Backend, checkClient } from "./backend.ts";

/** What `ioRedis` uses of a client. */
export interface IoRedisClient {
  /** Runs a script by its digest. */
  evalsha(sha: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Runs a script by its text. */
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** A second connection with the same settings, apart from these. */
  duplicate(override?: object): object;
  /** Where the connection is in its life; "end" means for good. */
  readonly status: string;
}

/** What the adapter uses beyond that, of clients and their duplicates. */
interface Connection {
  readonly isCluster?: boolean;
  readonly status: string;
  readonly stream?: Stream & { unref?(): void };
  on(event: string, listener: (...args: string[]) => void): unknown;
  off(event: string, listener: (...args: string[]) => void): unknown;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  disconnect(): void;
}

type Lost = (forGood: boolean) => void;
type Stop = () => void | Promise<void>;

/**
 * Makes a backend of a client of npm:ioredis. The same client gives the same backend.
 *
 * @param client A `Redis` (Sentinel included) or a `Cluster`, closed by you, with an `error` listener.
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
export function ioRedis(client: IoRedisClient): Backend {
  return backendOf(client);
}

const backendOf = onceFor((client: IoRedisClient): Backend => {
  checkClient(client, ["evalsha", "eval", "on"], "npm:ioredis");
  const connection = client as unknown as Connection;
  const cluster = connection.isCluster === true;
  const cork = new Cork();
  return {
    evalsha: (sha, keys, args) => {
      cork.hold(connection.stream);
      return client.evalsha(sha, keys.length, ...keys, ...args);
    },
    eval: (script, keys, args) => client.eval(script, keys.length, ...keys, ...args),
    subscribe: (channel, onMessage, onGap, onLost) =>
      cluster
        ? listen(connection, ["+node", "-node", "ready"], channel, onMessage, onGap)
        : subscribe(client, channel, onMessage, onGap, onLost),
    cluster,
    get closed() {
      return client.status === "end";
    },
    onClose: (listener) => void connection.on("end", listener),
  };
});

/**
 * It is told to subscribe before it is connected, which a client that queues nothing refuses. And it is told again after
 * each reconnection: when ioredis does that by itself, nobody catches the error of a connection that is gone again.
 */
const OVERRIDE = { enableOfflineQueue: true, autoResubscribe: false };

async function subscribe(
  client: IoRedisClient,
  channel: string,
  onMessage: (message: string) => void,
  onGap: () => void,
  onLost?: Lost,
): Promise<Stop> {
  const main = client as unknown as Connection;
  const own = client.duplicate(OVERRIDE) as Connection;
  const end = () => {
    main.off("end", end);
    if (own.status !== "end") own.disconnect(); // what has ended already would set a timer
  };
  own.on("error", () => {}); // it reconnects by itself
  own.on("connect", () => own.stream?.unref?.());
  main.on("end", end);
  try {
    await listen(own, ["ready"], channel, onMessage, onGap);
  } catch (error) {
    end();
    throw error;
  }
  own.on("close", () => onLost?.(false));
  own.on("end", () => onLost?.(true)); // its settings say not to connect again
  return end;
}

/**
 * A cluster has a connection for its subscriptions already, and listens by itself. It does not tell when that one is
 * down, and need not: nobody is passed over in a cluster for not being told.
 */
async function listen(
  connection: Connection,
  gaps: string[],
  channel: string,
  onMessage: (message: string) => void,
  onGap: () => void,
): Promise<Stop> {
  const receive = (from: string, message: string) => {
    if (from === channel) onMessage(message);
  };
  // "ready" comes before it has subscribed again: subscribing once more tells when that is done.
  const gap = () => void connection.subscribe(channel).then(onGap, () => {});
  const stop = () => {
    for (const event of gaps) connection.off(event, gap);
    connection.off("message", receive as (...args: string[]) => void);
  };
  connection.on("message", receive as (...args: string[]) => void);
  try {
    await connection.subscribe(channel);
  } catch (error) {
    stop();
    throw error;
  }
  for (const event of gaps) connection.on(event, gap);
  return async () => {
    stop();
    await connection.unsubscribe(channel);
  };
}
