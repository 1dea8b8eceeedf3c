/** A rate limit that four processes share: its cost while it limits nothing, and its starts while it does. */
import { spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Server } from "../../tests/redis/_server.ts";
import type { Maker, Situation } from "../_situation.ts";
import { clock } from "./_drain.ts";
import type { RateOrder } from "./_rate_process.ts";
import { FREE, type Limit, type RateName, rateOf, RATES } from "./_rates.ts";
import { theServer } from "./_the_server.ts";

const PROCESSES = 4;
const TASKS = 25;
const CALLS = 100;
/** Each process has its share of several windows. */
const BINDING: Limit = { limit: 20, interval: 1000 };
const WAITING = 20;

interface Played {
  /** On a clock that processes share, in order. */
  readonly starts: readonly number[];
  readonly begun: number;
  readonly commands: number;
}

/** All processes of a contender at once; each has made its connection and, where it has some, its keys. */
async function play(server: Server, order: Omit<RateOrder, "url">): Promise<Played> {
  await server.send("FLUSHALL");
  const flags = "Deno" in globalThis ? ["run", "-A", "--no-check"] : [];
  const script = fileURLToPath(new URL("./_rate_process.ts", import.meta.url));
  const processes = Array.from({ length: PROCESSES }, () => {
    const child = spawn(process.execPath, [...flags, script, JSON.stringify({ ...order, url: server.url })], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    return { child, lines: createInterface({ input: child.stdout! })[Symbol.asyncIterator]() };
  });
  for (const { lines } of processes) await lines.next();
  const before = await sent(server);
  const begun = clock();
  for (const { child } of processes) child.stdin!.write("go\n");
  const starts: number[] = [];
  for (const { lines } of processes) starts.push(...JSON.parse((await lines.next()).value!) as number[]);
  const commands = await sent(server) - before;
  for (const { child } of processes) child.stdin!.end("done\n");
  if (starts.length !== PROCESSES * order.tasks * order.calls) {
    throw new Error(`${order.name}: ${starts.length} starts`);
  }
  return { starts: starts.sort((a, b) => a - b), begun, commands };
}

/** Scripts that clients have sent, without the commands that these run inside. */
function sent(server: Server): Promise<number> {
  return server.calls("evalsha", "eval");
}

/** The most in any window. */
function most(starts: readonly number[], interval: number): number {
  let from = 0;
  return starts.reduce((most, at, i) => {
    while (starts[from]! <= at - interval) from++;
    return Math.max(most, i - from + 1);
  }, 0);
}

function contenders(figure: (server: Server, name: RateName) => Promise<number>): Pick<Situation, "ours" | "peers"> {
  const over = (name: RateName): Maker => async () => {
    const server = await theServer();
    return () => figure(server, name);
  };
  const [own, ...others] = RATES;
  return { ours: { [own]: () => over(own) }, peers: Object.fromEntries(others.map((name) => [name, over(name)])) };
}

const free = (server: Server, name: RateName) => play(server, { ...FREE, name, tasks: TASKS, calls: CALLS });
const binding = (server: Server, name: RateName) => play(server, { ...BINDING, name, tasks: WAITING, calls: 1 });

/** The bytes of a limit's keys after it has let all of its starts through. */
async function bytes(server: Server, name: RateName): Promise<number> {
  await server.send("FLUSHALL");
  const { start, close } = await rateOf(name, server.url, { limit: 100, interval: 60_000 });
  for (let i = 0; i < 100; i++) await start();
  const keys = await server.send("KEYS", "*rate*") as string[];
  let sum = 0;
  for (const key of keys) sum += Number(await server.send("MEMORY", "USAGE", key, "SAMPLES", 0));
  await close();
  return sum;
}

const COUNTER =
  "rate-limiter-flexible adds to one counter for a fixed window, which costs the server three short commands and lets " +
  "twice the limit start around the end of a window; here each start is kept in a list, and the client sees to the order.";

/**
 * Milliseconds by which a caller may go on after its turn: its answer and its timer are late. A start that is late is
 * closer to the next ones of other processes, so the windows that are looked at are shorter by that.
 */
const LATE = 50;

const MOST =
  `a process that goes on more than ${LATE} ms after its turn, as on a machine that is too busy, is closer than ` +
  "that to the next starts of other processes; by the server's clock the limit is never passed.";

export const rateLimiter: readonly Situation[] = [
  {
    name: "Redis, rate limit, a start, 4 processes with 25 tasks each",
    unit: "µs",
    operations: 1,
    rounds: 2,
    ...contenders(async (server, name) => {
      const { starts, begun } = await free(server, name);
      return (starts.at(-1)! - begun) * 1000 / starts.length;
    }),
    goals: [{ against: "peer", ratio: 1.5, why: COUNTER }],
  },
  {
    name: "Redis, rate limit, commands for a start that waits",
    unit: "commands",
    operations: 1,
    rounds: 1,
    ...contenders(async (server, name) => {
      const { starts, commands } = await binding(server, name);
      return commands / starts.length;
    }),
    goals: [{ against: "value", ratio: 1 }],
  },
  {
    name: "Redis, rate limit, the most starts in 950 ms with a limit of 20 in a second",
    unit: "starts",
    operations: 1,
    rounds: 1,
    ...contenders(async (server, name) => most((await binding(server, name)).starts, BINDING.interval - LATE)),
    goals: [{ against: "value", ratio: BINDING.limit, why: MOST }],
  },
  {
    name: "Redis, rate limit, bytes of a key after 100 starts",
    unit: "bytes",
    operations: 1,
    rounds: 1,
    ...contenders(bytes),
    goals: [{ against: "value", ratio: 800 + 600 }],
  },
];
