/**
 * The contract of every resource that can be held, across machines, for every class and every client, and in memory, where
 * it needs no server and no time.
 */
import { type Lease, memoryBackend } from "../../lib/redis/mod.ts";
import { contractSuite } from "../contract_suite.ts";
import { deeply, RunningTime } from "../_tools.ts";
import { bodies, type MakeBody } from "./_bodies.ts";
import { type Client, clients, type Connected, sharedServer, until } from "./_clients.ts";

function suite(name: string, connect: () => Promise<Connected>, make: MakeBody): void {
  contractSuite<Lease>({
    name,
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

const classes: readonly (readonly [name: string, make: MakeBody])[] = [
  ["RedisLock", bodies.lock],
  ["RedisKeyedMutex.at", bodies.key],
  ["RedisSemaphore of 1", bodies.semaphore],
  ["RedisRwLock's writer", bodies.writer],
];
// Older versions of a client library answer alike; the deep run has them.
const newest = clients.filter(({ name }) => !name.endsWith(" 5"));
for (const client of deeply(newest, clients)) suite(`RedisLock, ${client.name}`, () => withServer(client), bodies.lock);
const [first] = clients;
for (const [name, make] of classes.slice(1)) suite(name, () => withServer(first!), make);
for (const [name, make] of classes) suite(`${name} in memory`, inMemory, make);
