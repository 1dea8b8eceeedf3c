/**
 * The adapter for Bun's own RedisClient.
 *
 * @module
 */
import { adapter, checkClient, checkPush } from "./adapter.ts";
import type { Backend, ClientOptions, Subscribe } from "./backend.ts";
import { MainConnection } from "./main_connection.ts";

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
  /** Called after each new connection. */
  onconnect: unknown;
  /** Called when the client was closed for good. */
  onclose: unknown;
}

type Handler = ((this: BunRedisClient, error?: unknown) => void) | null | undefined;

/**
 * Creates a backend from Bun's RedisClient. The same client gives the same backend. It sets the client's `onconnect`
 * and `onclose`, and calls the earlier handlers.
 *
 * @param client From `new RedisClient(url)` or `Bun.redis`. You close it.
 * @param options Whether to use push.
 * @throws {TypeError} when `client` is not a RedisClient of Bun, or cannot subscribe.
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

const backendOf = adapter((client: BunRedisClient, usesPush): Backend => {
  checkClient(client, ["send", "duplicate"], "Bun (RedisClient)");
  checkPush(client, usesPush, ["subscribe"]);
  const main = new MainConnection();
  let isClosed = false;
  const { onconnect, onclose } = client as { onconnect: Handler; onclose: Handler };
  client.onconnect = function (this: BunRedisClient) {
    main.lost(); // of which there is no notice
    main.noteGreeting(); // Bun sends the commands that have waited when this function has returned (1.4.5)
    main.onReconnect.call();
    onconnect?.call(this);
  };
  // The only notice of the end. Without it, the adapter's own connection would keep the process alive.
  client.onclose = function (this: BunRedisClient, error?: unknown) {
    isClosed = true;
    main.onClose.call();
    onclose?.call(this, error);
  };
  const run = (command: string, what: string, keys: string[], args: string[]) =>
    client.send(command, [what, String(keys.length), ...keys, ...args]);
  return {
    evalsha: (sha, keys, args) => run("EVALSHA", sha, keys, args),
    eval: (script, keys, args) => run("EVAL", script, keys, args),
    ...usesPush && { subscribe: subscriber(client, main) },
    library: "Bun (RedisClient)",
    get connection() {
      if (!client.connected) main.lost(); // a command waits for the next one
      return main.present;
    },
    get closed() {
      return isClosed && !client.connected;
    },
    onClose: (listener) => void main.onClose.add(listener),
  };
});

function subscriber(client: BunRedisClient, main: MainConnection): Subscribe {
  return async (channel, onMessage, onGap, onEnd = () => {}) => {
    const duplicate = await client.duplicate();
    // Each reconnection needs a new subscription. If both last, the second message finds no waiter.
    const listen = async () => await duplicate.subscribe(channel, (message) => onMessage(message));
    const open = async () => {
      await listen();
      duplicate.onconnect = () => void listen().then(onGap, () => {});
      duplicate.onclose = () => onEnd(); // it no longer reconnects
    };
    const close = () => {
      duplicate.onconnect = duplicate.onclose = null;
      duplicate.close();
    };
    return await main.follow(open, close, onEnd);
  };
}
