/** The contract of every resource that can be held, across machines, for every class and every client. */
import {
  type Acquirable,
  type Backend,
  type Inspection,
  type Lease,
  RedisKeyedMutex,
  RedisLock,
  RedisRwLock,
  RedisSemaphore,
} from "../../lib/redis/mod.ts";
import { contractSuite } from "../contract_suite.ts";
import { type Client, clients, until } from "./_clients.ts";
import { Server } from "./_server.ts";

interface Remote {
  readonly held: Acquirable<Lease>;
  inspect(): Promise<Inspection>;
}

function suite(name: string, client: Client, make: (backend: Backend) => Remote, hasPlace = true): void {
  contractSuite<Lease>({
    name,
    hasPlace,
    make: async () => {
      const server = await Server.start();
      const { backend, close } = await client.connect(server.url);
      const { held, inspect } = make(backend);
      return {
        lock: held,
        waiting: async () => (await inspect()).waiters.length,
        close: async () => {
          await close();
          await server[Symbol.asyncDispose]();
        },
      };
    },
    short: 300,
    untilQueued: (body, count) => until(async () => await body.waiting() === count),
  });
}

function oneKey(backend: Backend): Remote {
  const mutex = new RedisKeyedMutex(backend);
  return {
    held: {
      acquire: (options) => mutex.acquire("key", options),
      tryAcquire: () => mutex.tryAcquire("key"),
      run: (fn, options) => mutex.run("key", fn, options),
    },
    inspect: () => mutex.inspect("key"),
  };
}

function at(backend: Backend): Remote {
  const mutex = new RedisKeyedMutex(backend);
  return { held: mutex.at("key"), inspect: () => mutex.inspect("key") };
}

function writer(backend: Backend): Remote {
  const lock = new RedisRwLock(backend, "rw");
  return { held: lock.writer, inspect: () => lock.inspect() };
}

function semaphore(backend: Backend): Remote {
  const held = new RedisSemaphore(backend, "semaphore", 1);
  return { held, inspect: () => held.inspect() };
}

function lock(backend: Backend): Remote {
  const held = new RedisLock(backend, "lock");
  return { held, inspect: () => held.inspect() };
}

for (const client of clients) suite(`RedisLock, ${client.name}`, client, lock);
const [first] = clients;
suite("RedisKeyedMutex", first!, oneKey, false);
suite("RedisKeyedMutex.at", first!, at);
suite("RedisSemaphore of 1", first!, semaphore);
suite("RedisRwLock's writer", first!, writer);
