/**
 * The adapter for jsr:@db/redis. That client runs one command at a time and none on a subscribing connection, so push
 * needs a second connection.
 *
 * @module
 */
import { must } from "../../internal/check.ts";
import { onceFor } from "../../internal/once.ts";
import { checkClient, refuse } from "./adapter.ts";
import type { Backend, OwnBackend } from "./backend.ts";
import { type DenoRedisSubscriber, Subscriptions } from "./deno_subscriptions.ts";
import { MainConnection } from "./main_connection.ts";

/** The members of a client that `denoRedis` uses. */
export interface DenoRedisClient {
  /** Runs a script by its digest. */
  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown>;
  /** Runs a script by its text. */
  eval(script: string, keys: string[], args: string[]): Promise<unknown>;
  /** Collects commands until `flush`, which sends them. */
  pipeline?(): Pick<DenoRedisClient, "evalsha" | "eval"> & { flush(): Promise<unknown[]> };
  /** Whether it was closed, or has lost its connection and is connecting again. */
  readonly isClosed?: boolean;
  /** Adds a listener for connection events. */
  addEventListener?(type: "connect" | "reconnecting" | "close" | "end", listener: () => void): unknown;
}

/**
 * Creates a backend from clients of jsr:@db/redis. The same pair gives the same backend.
 *
 * @param client The connection for commands. You connect and close it.
 * @param subscriber A second connection, for messages only. You connect and close it. Do not pass the client itself: it
 * would hang. When the client moves to another server, the subscriber is closed and connected again. Without a
 * subscriber, waiters rely on heartbeats, and a hand-off takes up to a third of the `ttl`.
 * @throws {TypeError} when `client` or `subscriber` is not a client of jsr:@db/redis or is a pool, or both are the same
 *   client.
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
  if ("duplicate" in client) refuse(client, "jsr:@db/redis"); // it is one of ioredis
  checkSingle(client, "client");
  if (subscriber === undefined) return withoutPush(client);
  checkClient(subscriber, ["subscribe"], "jsr:@db/redis", "subscriber");
  checkSingle(subscriber, "subscriber");
  const isSecond = (subscriber as unknown) !== client;
  must(isSecond, "subscriber", "be a second connection: a client cannot run commands while it subscribes", subscriber);
  return withPush(client)(subscriber);
}

/** Throws for a pool or a cluster: reading their `isClosed` throws. */
function checkSingle(client: object, name: string): void {
  try {
    void (client as DenoRedisClient).isClosed;
  } catch {
    must(false, name, "be a single connection, not a pool or cluster", client);
  }
}

const withoutPush = onceFor((client: DenoRedisClient) => make(client));
const withPush = onceFor((client: DenoRedisClient) =>
  onceFor((subscriber: DenoRedisSubscriber) => make(client, subscriptionsOf(subscriber)))
);
const subscriptionsOf = onceFor((subscriber: DenoRedisSubscriber) => new Subscriptions(subscriber));

function make(client: DenoRedisClient, subscriptions?: Subscriptions): Backend {
  let isReconnecting = false;
  const main = new MainConnection();
  client.addEventListener?.("connect", () => {
    backend.losses!++;
    main.begun();
    isReconnecting = false;
    subscriptions?.move(); // it may be another server now
  });
  client.addEventListener?.("reconnecting", () => {
    isReconnecting = true;
    main.lost();
  });
  // After a loss, the client sends a command again over its next connection. If the server answers that with an error,
  // such as NOSCRIPT after a restart, it tries for half a minute, with all other commands behind (0.41.2). An error in
  // a pipeline is an answer to it.
  const pipeline = client.pipeline?.();
  const reply = async (sent: Promise<unknown>) => {
    if (pipeline === undefined) return await sent;
    const [answer] = await pipeline.flush();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const commands = pipeline ?? client;
  const backend: OwnBackend = {
    evalsha: (sha, keys, args) => reply(commands.evalsha(sha, keys, args)),
    eval: (script, keys, args) => reply(commands.eval(script, keys, args)),
    ...subscriptions && { subscribe: subscriptions.subscribe },
    library: "jsr:@db/redis",
    losses: 0,
    get connection() {
      return main.present;
    },
    // A client that is connecting again calls itself closed (0.41.2), and has an "end" after each ten attempts.
    get closed() {
      return client.isClosed === true && !isReconnecting;
    },
    onClose: (listener) => client.addEventListener?.("end", () => backend.closed && listener()),
  };
  return backend;
}
