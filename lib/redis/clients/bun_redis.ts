/**
 * The adapter for Bun's own RedisClient.
 *
 * @module
 */
import { adapter, type Backend, checkClient, checkPush, type ClientOptions } from "./backend.ts";

/** The members of a client that `bunRedis` uses. */
export interface BunRedisClient {
  /** Runs any command. */
  send(command: string, args: string[]): Promise<unknown>;
  /** A second connection with the same settings. */
  duplicate(): Promise<BunRedisClient>;
  /** Listens on a channel. */
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<unknown>;
  /** Ends the connection for good. */
  close(): void;
  /** Whether there is a connection now. */
  readonly connected: boolean;
  /** Called after each connection that was made. */
  onconnect: unknown;
  /** Called when it was closed for good. */
  onclose: unknown;
}

type Handler = ((this: BunRedisClient, error?: unknown) => void) | null | undefined;

/**
 * Makes a backend of Bun's RedisClient. The same client gives the same backend. It sets the client's `onconnect` and
 * `onclose`, and calls those that were set before.
 *
 * @param client Of `new RedisClient(url)` or `Bun.redis`, closed by you.
 * @param options Whether to use push.
 * @throws {TypeError} It is not such a client, or cannot subscribe.
 *
 * @example
 * ```ts
 * import { bunRedis, type BunRedisClient, RedisLock } from "@interlock/interlock/redis";
 *
 * // With `import { redis } from "bun"`: ordersOf(redis)
 * export const ordersOf = (client: BunRedisClient) => new RedisLock(bunRedis(client), "orders");
 * ```
 */
export function bunRedis(client: BunRedisClient, options?: ClientOptions): Backend {
  return backendOf(client, options);
}

/** Listeners of one client, which has room for one handler of each kind. */
class Events {
  readonly connect = new Set<() => void>();
  readonly close = new Set<() => void>();
  /** Bun has no event for a connection that is down, so it is looked at with each command, hence each heartbeat. */
  readonly command = new Set<() => void>();
  closed = false;

  constructor(client: BunRedisClient) {
    const { onconnect, onclose } = client as { onconnect: Handler; onclose: Handler };
    const { connect, close } = this;
    const closed = () => this.closed = true;
    client.onconnect = function (this: BunRedisClient) {
      for (const listener of [...connect]) listener();
      onconnect?.call(this);
    };
    // The only notice of it, and the connection that the adapter opens would keep the process alive.
    client.onclose = function (this: BunRedisClient, error?: unknown) {
      closed();
      for (const listener of [...close]) listener();
      onclose?.call(this, error);
    };
  }
}

const backendOf = adapter((client: BunRedisClient, push): Backend => {
  checkClient(client, ["send", "duplicate"], "Bun (RedisClient)");
  checkPush(client, push, ["subscribe"]);
  const events = new Events(client);
  const run = (command: string, what: string, keys: string[], args: string[]) => {
    for (const check of events.command) check();
    return client.send(command, [what, String(keys.length), ...keys, ...args]);
  };
  return {
    evalsha: (sha, keys, args) => run("EVALSHA", sha, keys, args),
    eval: (script, keys, args) => run("EVAL", script, keys, args),
    ...push && { subscribe: subscriber(client, events) },
    library: "Bun (RedisClient)",
    get closed() {
      return events.closed && !client.connected;
    },
    onClose: (listener) => void events.close.add(listener),
  };
});

function subscriber(client: BunRedisClient, events: Events): NonNullable<Backend["subscribe"]> {
  return async (channel, onMessage, onGap, onLost) => {
    const own = await client.duplicate();
    // Each reconnection needs a subscription of its own; should both last, a second message finds no waiter.
    const listen = () => own.subscribe(channel, (message) => onMessage(message));
    const check = () => {
      if (!own.connected) onLost?.(false);
    };
    // The main connection may have gone to another server, and this one has stayed.
    const moved = () => onLost?.(true);
    const end = () => {
      events.close.delete(end);
      events.command.delete(check);
      events.connect.delete(moved);
      own.onconnect = own.onclose = null;
      own.close();
    };
    events.close.add(end);
    try {
      await listen();
    } catch (error) {
      end();
      throw error;
    }
    events.command.add(check);
    events.connect.add(moved);
    own.onconnect = () => void listen().then(onGap, () => {});
    own.onclose = () => onLost?.(true); // it does not reconnect any more
    return end;
  };
}
