/**
 * The contract of every resource that can be held, across machines, for every class and every client, and in memory, where
 * it needs no server and no time.
 */
import {
  type Acquirable,
  type Backend,
  type Inspection,
  type Lease,
  memoryBackend,
  RedisKeyedMutex,
} from "../../lib/redis/mod.ts";
import { contractSuite } from "../contract_suite.ts";
import { deeply, RunningTime } from "../_tools.ts";
import { bodies } from "./_bodies.ts";
import { type Client, clients, type Connected, sharedServer, until } from "./_clients.ts";

/** A class, or a key by the methods of its mutex. */
type Make = (backend: Backend) => { readonly held: Acquirable<Lease>; inspect(): Promise<Inspection> };

function suite(name: string, connect: () => Promise<Connected>, make: Make, hasPlace = true): void {
  contractSuite<Lease>({
    name,
    hasPlace,
    make: async () => {
      const { backend, close } = await connect();
      const { held, inspect } = make(backend);
      return { lock: held, waiting: async () => (await inspect()).waiters.length, close };
    },
    short: 300,
    untilQueued: (body, count) => until(async () => await body.waiting() === count),
  });
}

const lend = sharedServer();

async function withServer(client: Client): Promise<Connected> {
  const server = await lend();
  const { backend, close } = await client.connect(server.url);
  return { backend, close: () => close().then(() => server[Symbol.asyncDispose]()) };
}

function inMemory(): Promise<Connected> {
  const time = new RunningTime();
  return Promise.resolve({ backend: memoryBackend(), close: () => Promise.resolve(time.restore()) });
}

const oneKey: Make = (backend) => {
  const mutex = new RedisKeyedMutex(backend);
  return {
    held: {
      acquire: (options) => mutex.acquire("key", options),
      tryAcquire: () => mutex.tryAcquire("key"),
      run: (fn, options) => mutex.run("key", fn, options),
    },
    inspect: () => mutex.inspect("key"),
  };
};

const classes: readonly (readonly [name: string, make: Make, hasPlace?: boolean])[] = [
  ["RedisLock", bodies.lock],
  ["RedisKeyedMutex", oneKey, false],
  ["RedisKeyedMutex.at", bodies.key],
  ["RedisSemaphore of 1", bodies.semaphore],
  ["RedisRwLock's writer", bodies.writer],
];
// Older versions of a client library answer alike; the deep run has them.
const newest = clients.filter(({ name }) => !name.endsWith(" 5"));
for (const client of deeply(newest, clients)) suite(`RedisLock, ${client.name}`, () => withServer(client), bodies.lock);
const [first] = clients;
for (const [name, make, hasPlace] of classes.slice(1)) suite(name, () => withServer(first!), make, hasPlace);
for (const [name, make, hasPlace] of classes) suite(`${name} in memory`, inMemory, make, hasPlace);
