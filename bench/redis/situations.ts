/** All situations over Redis. All contenders share one server. */
import type { Maker, Round, Situation } from "../_situation.ts";
import { drain, drainAcross } from "./_drain.ts";
import { type Locks, locksOf, type Name, NAMES } from "./_locks.ts";
import { rateLimiter } from "./rate_limiter.ts";
import { theServer } from "./_the_server.ts";

type Play = (locks: Locks, name: Name) => Promise<number | void>;

/** A client of its own for each round, and an empty server. */
function over(name: Name, play: Play): Maker {
  return async (): Promise<Round> => {
    const server = await theServer();
    await server.send("FLUSHALL");
    const locks = await locksOf(name, server.url);
    await (await locks.acquire("warm"))(); // scripts are loaded
    return async () => {
      try {
        return await play(locks, name);
      } finally {
        locks.close();
      }
    };
  };
}

function contenders(play: Play): Pick<Situation, "ours" | "peers"> {
  const [own, ...others] = NAMES;
  return {
    ours: { [own]: () => over(own, play) },
    peers: Object.fromEntries(others.map((name) => [name, over(name, play)])),
  };
}

const PAIRS = 400;
const KEYS = 50;
const EACH = 40;

/** One after the other. */
const sequential: Play = async ({ acquire }) => {
  for (let i = 0; i < PAIRS; i++) await (await acquire("one"))();
};

/** Many keys at once, each by itself. */
const manyKeys: Play = async ({ acquire }) => {
  const key = async (index: number) => {
    for (let i = 0; i < EACH; i++) await (await acquire(`key ${index}`))();
  };
  await Promise.all(Array.from({ length: KEYS }, (_, index) => key(index)));
};

/** A closed loop: each contender that releases comes again. The longest wait, in milliseconds. */
const longestWait: Play = async ({ acquire }) => {
  const end = performance.now() + 1500;
  let longest = 0;
  const task = async () => {
    while (performance.now() < end) {
      const start = performance.now();
      const release = await acquire("loop");
      longest = Math.max(longest, performance.now() - start);
      await release();
    }
  };
  await Promise.all(Array.from({ length: 100 }, task));
  return longest;
};

/** The commands that clients sent. The statistics also count calls by scripts: only redis-semaphore sends SET itself. */
async function commands(name: Name): Promise<number> {
  const server = await theServer();
  return await server.calls("evalsha", "eval", ...name === "redis-semaphore" ? ["set"] : []);
}

/** The server's cost of each of 100 contended acquisitions. */
const commandsEach: Play = async (locks, name) => {
  await drain(locks, 5); // listens, where it can
  const before = await commands(name);
  await drain(locks, 100);
  return (await commands(name) - before) / 101;
};

const floors = (play: Play): Record<string, Maker> => ({
  "SET NX, compare and delete": over("SET NX, compare and delete", play),
  "PING twice": over("PING twice", play),
  "two short scripts": over("two short scripts", play),
});

const SEQUENTIAL =
  "the two scripts alone, sent without this module, take 1.35 × the floor: each reads the server's time and " +
  "the state and writes the state, which costs the server 15 µs when it was idle before. The rest is the client side: " +
  "leases, renewal, a time limit for each command; on Node it is idle for 74 % of the time. Tried: no timers at all (no " +
  "difference) and the shortest scripts that do the same (2 µs less for the server). Two scripts that do no more than " +
  "read clock and state and write it are the row 'two short scripts'.";

const MANY =
  "a pair is two scripts that read the clock and the state, and takes 10 µs of the server's time where the peer's takes " +
  "2; the client side takes about as long as the peer's. So the lock is ahead where the system runs client and server " +
  "side by side, and behind where it does not. Tried: portions of 1, 3, 4, 8, 16, 25 and 64 commands (16 took the least " +
  "time over all run-times; 64 took half as long again on Deno), fewer functions and numbers in the scripts (3 % of the " +
  "server's instructions for a free lock), fewer numbers in an answer (1 %, not kept), the clock read half as often and " +
  "one look-up less (a quarter of this module's own time on Node). Not tried: keys made by the script instead of sent, " +
  "as a cluster wants them to be named; an argument takes 1 % of the instructions. Another bench, with lock objects that are " +
  "used again, gave 1.28 on Deno, 0.96 on Node, 0.86 on Bun; with node-redis in place of ioredis 1.09, 0.86, 0.73. The row " +
  "'two short scripts' is a bare client that reads the clock and a state and writes it, which is no lock yet.";

const PROCESSES =
  "measured is one release to the next entry in another process: a script, a message, and two processes " +
  "that have to be woken. The peer's own figure moves by as much. The scripts of a pair that others wait for run through " +
  "15 % fewer instructions of the server than before; an eighth of what is left reads the first four waiters and asks " +
  "whether the process of the first one listens, which crashed processes make necessary. These rows were measured before.";

export const situations: readonly Situation[] = [
  {
    name: "Redis, one after the other",
    unit: "µs",
    operations: PAIRS,
    ...contenders(sequential),
    floors: floors(sequential),
    goals: [{ against: "floor", ratio: 1.1, named: ["SET NX, compare and delete"], why: SEQUENTIAL }],
  },
  {
    name: "Redis, 50 keys at once",
    unit: "µs",
    operations: KEYS * EACH,
    ...contenders(manyKeys),
    floors: floors(manyKeys),
    goals: [{ against: "peer", ratio: 1, named: ["redis-semaphore"], why: MANY }],
  },
  ...[10, 100].map((count): Situation => ({
    name: `Redis, hand-over with ${count} waiters`,
    unit: "ms",
    operations: 1,
    ...contenders((locks) => drain(locks, count)),
    goals: [{ against: "peer", ratio: 25, named: ["redis-semaphore"], why: PROCESSES }],
  })),
  {
    name: "Redis, hand-over between 4 processes with 25 waiters each",
    unit: "ms",
    operations: 1,
    ...contenders(async (locks, name) => drainAcross(name, (await theServer()).url, locks, 4, 25)),
    goals: [{ against: "peer", ratio: 9, named: ["redis-semaphore"], why: PROCESSES }],
  },
  {
    name: "Redis, longest wait of 100 in a closed loop",
    unit: "ms",
    operations: 1,
    ...contenders(longestWait),
    goals: [{ against: "peer", ratio: 1 }],
  },
  {
    name: "Redis, commands for an acquisition that waits",
    unit: "commands",
    operations: 1,
    ...contenders(commandsEach),
    goals: [{ against: "value", ratio: 2.05 }],
  },
  ...rateLimiter,
];
