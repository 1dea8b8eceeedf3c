/**
 * `deno run -A bench/redis_instructions.ts [WORD…]`: the instructions of a redis-server for one operation, counted by
 * valgrind's callgrind: the same on a busy machine, where times are not. The client is a bare connection of ioredis. Only the rows with
 * all words.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Redis } from "ioredis";
import type { Quota } from "../lib/internal/start_log.ts";
import { keysOf, rateKeysOf, settingsOf } from "../lib/redis/options.ts";
import { EVERYTHING } from "../lib/redis/rw_lock.ts";
import { channelsOf } from "../lib/redis/scripts/script.ts";
import { RedisStore } from "../lib/redis/store/redis_store.ts";
import type { StoredResource } from "../lib/redis/store/store.ts";
import { findServer } from "../tests/redis/_find_server.ts";
import { freePort } from "../tests/_ports.ts";
import { command } from "../tests/redis/model/_command.ts";
import { connectBare } from "../tests/redis/_wire.ts";

const KEYS = 50;
const ROUNDS = 8;
/** Waiters behind the holder of each name. */
const WAITERS = 4;

type NameOf = (key: number, call: number) => StoredResource;

const nameOf = (kind: "lock" | "semaphore" | "rw", limit: number, weightOf: (call: number) => number): NameOf => {
  const settings = settingsOf({});
  return (key, call) => ({
    keys: keysOf("interlock:", kind, `name${key}`),
    layout: kind === "lock" ? "lock" : "semaphore",
    settings,
    weight: weightOf(call),
    limit,
  });
};

const names: Record<string, NameOf> = {
  lock: nameOf("lock", 1, () => 1),
  semaphore: nameOf("semaphore", 1, () => 1),
  writer: nameOf("rw", EVERYTHING, () => EVERYTHING),
  reader: nameOf("rw", EVERYTHING, () => 1),
  "readers and writers": nameOf("rw", EVERYTHING, (call) => call % 5 === 0 ? EVERYTHING : 1),
};

type Hold = { readonly id: string; readonly spec: StoredResource };

/** A server of its own for each figure: what ran before would change it by some percents. */
class CountedServer {
  readonly store: RedisStore;
  readonly #child: ChildProcess;
  readonly #folder: string;
  #dumps = 0;

  private constructor(child: ChildProcess, folder: string, client: Redis) {
    this.#child = child;
    this.#folder = folder;
    this.store = new RedisStore({
      evalsha: (sha, keys, args) => client.call("EVALSHA", sha, keys.length, ...keys, ...args),
      eval: (source, keys, args) => client.call("EVAL", source, keys.length, ...keys, ...args),
    });
  }

  static async start(): Promise<CountedServer> {
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), "interlock-callgrind-"));
    const valgrind = ["--tool=callgrind", `--callgrind-out-file=${folder}/out`, "--combine-dumps=no"];
    const options = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder, "--hz", "1"];
    const child = spawn("valgrind", [...valgrind, findServer()!, ...options], { stdio: "ignore" });
    const server = new CountedServer(child, folder, await connect(port));
    const subscriber = await connect(port);
    await subscriber.subscribe(channelsOf("interlock:") + server.store.ids.process);
    return server;
  }

  async startOf(name: string, budgets: readonly Quota[]): Promise<void> {
    const spec = { keys: rateKeysOf("interlock:", name), budgets };
    const answer = await this.store.rates.start({ spec, starts: budgets.map(() => 1), within: 0 }, command());
    if (answer.number === undefined) throw new Error("it has to start at once");
  }

  async acquire(spec: StoredResource): Promise<Hold> {
    const id = this.store.ids.next();
    await this.store.acquire({ id, spec, waits: true, position: 0, granted() {} }, command());
    return { id, spec };
  }

  async release({ id, spec }: Hold): Promise<void> {
    await this.store.release(spec, id, command(), false);
  }

  /** Thousands of instructions of one `turn` of one key. */
  async measure(turn: (key: number, call: number) => Promise<unknown>): Promise<number> {
    for (let call = 0; call < 5; call++) await everyKey((key) => turn(key, call));
    this.#counted();
    for (let call = 5; call < 5 + ROUNDS; call++) await everyKey((key) => turn(key, call));
    return this.#counted() / ROUNDS / KEYS / 1000;
  }

  /** The instructions since the last call. */
  #counted(): number {
    spawnSync("callgrind_control", ["--dump", String(this.#child.pid)]);
    const dump = readFileSync(`${this.#folder}/out.${++this.#dumps}`, "utf8");
    return Number(/^(?:totals|summary): (\d+)/m.exec(dump)?.[1]);
  }

  end(): void {
    this.#child.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true });
  }
}

async function connect(port: number): Promise<Redis> {
  for (;;) {
    const client = await connectBare(port).catch(() => undefined);
    if (client !== undefined) return client;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function everyKey<T>(fn: (key: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: KEYS }, (_, key) => fn(key)));
}

type Figure = (server: CountedServer, name: NameOf) => Promise<number>;

const figures: Record<string, Figure> = {
  "a free pair": (server, name) =>
    server.measure(async (key, call) => await server.release(await server.acquire(name(key, call)))),

  "a renewal": async (server, name) => {
    const holds = await everyKey((key) => server.acquire(name(key, 0)));
    const renewals = holds.map((hold) => ({ ...hold, ttl: 30_000, number: 0 }));
    return await server.measure((key) => key === 0 ? server.store.renew(renewals, command()) : Promise.resolve());
  },

  "a wait and its hand-off": async (server, name) => {
    const queues = await everyKey(async (key) => {
      const queue: Hold[] = [];
      for (let call = 0; call <= WAITERS; call++) queue.push(await server.acquire(name(key, call)));
      return queue;
    });
    return await server.measure(async (key, call) => {
      queues[key]!.push(await server.acquire(name(key, call)));
      await server.release(queues[key]!.shift()!);
    });
  },
};

const window: Quota = { kind: "window", limit: 1000, interval: 600_000 };
const bucket: Quota = { kind: "bucket", limit: 1000, interval: 600_000 };

const rates: Record<string, readonly Quota[]> = {
  window: [window],
  bucket: [bucket],
  "two budgets": [window, { ...window, limit: 500 }],
  "window and bucket": [window, bucket],
};

const rows: Record<string, (server: CountedServer) => Promise<number>> = {};
for (const [row, name] of Object.entries(names)) {
  for (const [figure, fn] of Object.entries(figures)) rows[`${row}: ${figure}`] = (server) => fn(server, name);
}
for (const [row, budgets] of Object.entries(rates)) {
  rows[`${row}: one start`] = (server) => server.measure((key) => server.startOf(`name${key}`, budgets));
}

const only = process.argv.slice(2);
for (const [title, row] of Object.entries(rows)) {
  if (!only.every((word) => title.includes(word))) continue;
  const server = await CountedServer.start();
  try {
    console.log(`${title}: ${(await row(server)).toFixed(1)} k`);
  } finally {
    server.end();
  }
}
process.exit();
