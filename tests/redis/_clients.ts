/** Every client adapter that this run-time supports, ready to be used by the tests. */
import { Redis as IoRedis6 } from "ioredis";
import { Redis as IoRedis5 } from "ioredis5";
import { createClient as createClient6 } from "redis";
import { createClient as createClient5 } from "redis5";
import {
  type Backend,
  bunRedis,
  type BunRedisClient,
  denoRedis,
  ioRedis,
  nodeRedis,
  type NodeRedisClient,
} from "../../lib/redis/mod.ts";
import { aroundAll, runtime, test } from "../_test.ts";
import { ending, until } from "../_tools.ts";
import { DenoRedisDouble } from "./clients/_deno_redis_double.ts";
import { Server } from "./_server.ts";
import { closeIo } from "./_wire.ts";

export { closeIo, ending, until };

/** A connected client. */
export interface Connected {
  readonly backend: Backend;
  close(): Promise<void>;
}

/** A client library, and how to connect with it. */
export interface Client {
  readonly name: string;
  connect(url: string): Promise<Connected>;
}

/** A client of the newest node-redis. It reports its errors through its calls. */
export function connectNode(url: string): Promise<Connected> {
  return useNode(createClient6({ url }));
}

/** Connects a client of node-redis. */
export async function useNode(client: NodeClient): Promise<Connected> {
  client.on("error", () => {});
  await client.connect();
  return { backend: nodeRedis(client), close: () => end(client) };
}

/** The members of a client that both versions of node-redis share. */
type NodeClient = NodeRedisClient & {
  on(event: "error", fn: () => void): unknown;
  connect(): Promise<unknown>;
  destroy(): void;
};

// destroy() throws if the client is closed already.
function end(client: { readonly isOpen: boolean; destroy(): void }): Promise<void> {
  if (client.isOpen) client.destroy();
  return Promise.resolve();
}

/** A client of either version of ioredis. */
type IoClient = InstanceType<typeof IoRedis6> | InstanceType<typeof IoRedis5>;

/** Connects a client of ioredis. */
export async function useIo(client: IoClient): Promise<Connected> {
  client.on("error", () => {});
  await client.connect();
  return { backend: ioRedis(client), close: () => closeIo(client) };
}

async function connectBun(url: string): Promise<Connected> {
  const bun = "bun"; // a variable, so that no other run-time resolves it
  const { RedisClient } = await import(bun) as { RedisClient: new (url: string) => BunRedisClient };
  const client = new RedisClient(url);
  await client.send("PING", []);
  return {
    backend: bunRedis(client),
    close: () => {
      client.close();
      return Promise.resolve();
    },
  };
}

async function connectDouble(url: string): Promise<Connected> {
  const port = Number(new URL(url).port);
  const client = await DenoRedisDouble.connect(port);
  const subscriber = await DenoRedisDouble.connect(port);
  return {
    backend: denoRedis(client, subscriber),
    close: async () => {
      await client.close();
      await subscriber.close();
    },
  };
}

/** All clients. Tests that are not about clients use the first one. */
export const clients: readonly Client[] = [
  { name: "redis 6", connect: connectNode },
  { name: "redis 5", connect: (url) => useNode(createClient5({ url })) },
  { name: "ioredis 6", connect: (url) => useIo(new IoRedis6(url, { lazyConnect: true })) },
  { name: "ioredis 5", connect: (url) => useIo(new IoRedis5(url, { lazyConnect: true })) },
  { name: "@db/redis (double)", connect: connectDouble },
  ...(runtime === "bun" ? [{ name: "Bun", connect: connectBun }] : []),
];

/** The server and the clients of one test. */
export interface Setup {
  /** Empty. It is that of all tests of a file, unless the test is alone. */
  readonly server: Server;
  readonly backend: Backend;
  /** One more client, as another process has; closed with the test. */
  connect(client?: Client): Promise<Backend>;
}

/** The server of this file's tests, and whether it has been registered. */
let shared: Server | undefined;
let isShared = false;

/** Starts one server for the tests of this file. Returns what lends it, empty, to one of them. */
export function sharedServer(): () => Promise<Server> {
  if (!isShared) {
    isShared = true;
    aroundAll(async () => void (shared = await Server.start()), async () => {
      shared?.takeBack();
      await shared?.[Symbol.asyncDispose]();
      shared = undefined;
      isShared = false; // Bun keeps this module for its next file
    });
  }
  return async () => await shared?.lend() ?? await Server.start();
}

export interface RedisTestOptions {
  readonly client?: Client;
  /** Arguments of the server, which is that of this test alone then. */
  readonly args?: readonly string[];
  /** Whether the server is that of this test alone, which may stop or configure it. Default: false. */
  readonly isAlone?: boolean;
  readonly timeout?: number;
}

/** Registers a test that has an empty server, and clients of its own. */
export function redisTest(name: string, fn: (setup: Setup) => Promise<void>, options: RedisTestOptions = {}): void {
  const { client = clients[0]!, args = [], isAlone = args.length > 0, ...limits } = options;
  const start = isAlone ? () => Server.start(...args) : sharedServer();
  test(name, async () => {
    await using server = await start();
    const connected: Connected[] = [];
    await using _ = ending(() => Promise.all(connected.map((one) => one.close())));
    const connect = async (other: Client = client) => {
      const one = await other.connect(server.url);
      connected.push(one);
      return one.backend;
    };
    await fn({ server, backend: await connect(), connect });
  }, limits);
}

/** Registers the same test for each client of this run-time. */
export function eachClient(name: string, fn: (setup: Setup) => Promise<void>): void {
  for (const client of clients) redisTest(`${client.name}: ${name}`, fn, { client });
}

/** Waits until this number of clients listens for messages of a server. */
export async function subscribed(server: Server, clients: number): Promise<void> {
  await until(async () => (await server.send("PUBSUB", "CHANNELS", "interlock:*") as string[]).length >= clients);
}
