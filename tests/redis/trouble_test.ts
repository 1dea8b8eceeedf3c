/** The lists of docs/running-redis.md, and what warnings, metrics and dashboard show within a minute of each trouble. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Tracks } from "../../lib/dashboard/tracks.ts";
import { Frame } from "../../lib/dashboard/view.ts";
import { observe, snapshot } from "../../lib/diagnostics/mod.ts";
import { Redis } from "ioredis";
import { createClient } from "redis";
import {
  type Backend,
  memoryBackend,
  nodeRedis,
  type NodeRedisClient,
  RedisError,
  RedisLock,
} from "../../lib/redis/mod.ts";
import { Measurements } from "../diagnostics/_tools.ts";
import { test } from "../_test.ts";
import { FakeTime, flushMicrotasks } from "../_tools.ts";
import { ending, until, useIo, useNode } from "./_clients.ts";
import { Server } from "./_server.ts";
import type { Command } from "./_command_of.ts";
import { closable, computeDigests, nothing, queuedReply, scripted } from "./_scripted.ts";
import { Warnings } from "./_warnings.ts";

await computeDigests();

/** The three lists, in the order of the page. */
const KINDS = ["tried again", "final", "none"] as const;

interface Row {
  readonly trouble: string;
  readonly error: string;
  /** What becomes of the call. */
  readonly kind: (typeof KINDS)[number];
}

function rowsOfPage(): Row[] {
  const text = readFileSync(new URL("../../docs/running-redis.md", import.meta.url), "utf8");
  const blocks = text.split("## Redis in trouble")[1]!.split(/\n{2,}/);
  const lists = blocks.filter((block) => /^- [^*]/.test(block));
  assert.equal(lists.length, KINDS.length);
  return lists.flatMap((list, i) =>
    [...list.matchAll(/^- (.*?): (.*)$/gm)].map(([, trouble, error]) => ({
      trouble: trouble!,
      error: error!,
      kind: KINDS[i]!,
    }))
  );
}

/** The quoted parts of an item. */
function quoted(item: string): string[] {
  return [...item.matchAll(/`([^`]+)`/g)].map(([, text]) => text!);
}

/** A server, which is in trouble from some moment on. */
interface Patient {
  readonly backend: Backend;
  beginTrouble(): void;
}

/** Answers as a healthy server until then, and with that error, or as `answer` has it, afterwards. */
function patient(answer: Error | ((command: Command) => unknown), more: Partial<Backend> = {}): Patient {
  let isSick = false;
  const backend = scripted((command) => {
    if (!isSick) return undefined;
    if (answer instanceof Error) throw answer;
    return answer(command);
  });
  return { backend: { ...backend, ...more }, beginTrouble: () => void (isSick = true) };
}

function replies(message: string): () => Patient {
  return () => patient(new Error(message));
}

const OOM = new Error("OOM command not allowed when used memory > 'maxmemory'.");
const MAXCLIENTS = new Error("ERR max number of clients reached");

function closing(): Patient {
  const { backend, beginTrouble } = patient(new Error("The client is closed"));
  const client = closable(backend);
  return {
    backend: client.backend,
    beginTrouble: () => {
      beginTrouble();
      client.close();
    },
  };
}

/** Down for two thirds of a ttl. */
function shortlyDown(): Patient {
  let backAt = Infinity;
  const { backend, beginTrouble } = patient(() => {
    if (performance.now() < backAt) throw new Error("connect ECONNREFUSED 127.0.0.1:6379");
  });
  return {
    backend,
    beginTrouble: () => {
      beginTrouble();
      backAt = performance.now() + 20_000;
    },
  };
}

/** The client of a program that forgot to connect it. */
function unconnected(): Patient {
  const run = () => Promise.reject(new Error("The client is closed"));
  const client = { evalSha: run, eval: run, on() {}, duplicate() {}, subscribe() {}, destroy() {}, isOpen: false };
  return { backend: nodeRedis(client as unknown as NodeRedisClient), beginTrouble: () => {} };
}

function forgetting(): Patient {
  const backend = memoryBackend();
  return { backend, beginTrouble: () => void new RedisLock(backend, "held").forceRelease() };
}

const troubles: Record<string, () => Patient> = {
  "Redis is down": () => patient(new Error("connect ECONNREFUSED 127.0.0.1:6379")),
  "down for less than a ttl": shortlyDown,
  "Redis is silent": () => patient(() => nothing),
  "a blocking command (such as BLPOP) on the same client": () => patient(() => nothing),
  "out of memory (OOM)": () =>
    patient((command) => {
      if (command === "acquire") throw OOM;
    }),
  "cannot save (MISCONF)": replies("MISCONF Redis is configured to save RDB snapshots, but it is unable to persist"),
  "a replica (READONLY)": replies("READONLY You can't write against a read only replica."),
  "starting (LOADING)": replies("LOADING Redis is loading the dataset in memory"),
  "a long script (BUSY)": replies("BUSY Redis is busy running a script."),
  "a missing right (NOPERM)": replies("NOPERM this user has no permissions to run the 'evalsha' command"),
  "a missing password (NOAUTH)": replies("NOAUTH Authentication required."),
  "a wrong password (WRONGPASS)": replies("WRONGPASS invalid username-password pair or user is disabled."),
  "out of connections": () => patient(MAXCLIENTS),
  "no connection for push": () =>
    patient((command) => command === "acquire" ? queuedReply() : undefined, {
      subscribe: () => Promise.reject(MAXCLIENTS),
    }),
  "a plain client on a cluster's node": replies("MOVED 11337 127.0.0.1:7001"),
  "the cluster is down (CLUSTERDOWN)": replies("CLUSTERDOWN Hash slot not served"),
  "the client was closed": closing,
  "the client was never connected": unconnected,
  "a lease was lost (flush, failover)": forgetting,
};

/** Why the holder's lease is lost, if it is not for the error of the callers. */
const reasons: Record<string, string> = {
  "Redis is down": "connect ECONNREFUSED",
  "Redis is silent": "it could not be renewed in time",
  "a blocking command (such as BLPOP) on the same client": "it could not be renewed in time",
  "cannot save (MISCONF)": "MISCONF",
  "a replica (READONLY)": "READONLY",
  "starting (LOADING)": "LOADING",
  "a long script (BUSY)": "BUSY",
  "a missing right (NOPERM)": "may not run EVALSHA",
  "a missing password (NOAUTH)": "NOAUTH",
  "a wrong password (WRONGPASS)": "WRONGPASS",
  "the cluster is down (CLUSTERDOWN)": "CLUSTERDOWN",
  "a lease was lost (flush, failover)": "Redis no longer knows this hold",
};

/** Those in which there is no lease, or it is kept. */
const KEPT = [
  "down for less than a ttl",
  "out of memory (OOM)",
  "no connection for push",
  "the client was never connected",
];

/** Those in which no renewal fails. */
const RENEWED = [
  "out of memory (OOM)",
  "no connection for push",
  "the client was closed",
  "the client was never connected",
  "a lease was lost (flush, failover)",
];

/** The error, and its causes. */
function chain(error: unknown): string {
  return error instanceof Error ? `${error.message}\n${chain(error.cause)}` : "";
}

/** The outcome among the attributes of a metric; of failed renewals, its name. */
function outcomeOf(key: string): string | undefined {
  const [metric = "", _kind, _name, outcome] = key.split(" ");
  return metric === "interlock.renewal_failures" ? "renewal_failures" : outcome;
}

/** What one minute of that trouble shows. */
async function suffer(make: () => Patient) {
  const time = new FakeTime();
  using warnings = new Warnings();
  const waiting = new Set<number>();
  using measurements = new Measurements();
  const tracks = new Tracks();
  using _observing = observe(tracks);
  try {
    const { backend, beginTrouble } = make();
    const lease = await new RedisLock(backend, "held").acquire().catch(() => undefined);
    beginTrouble();
    const lock = new RedisLock(backend, "orders");
    const controller = new AbortController();
    const errors: unknown[] = [];
    const limits = [{ timeout: 5000 }, undefined];
    for (const limit of limits) {
      void lock.acquire(limit).then((lease) => lease.release(), (error) => errors.push(error));
    }
    for (let i = 0; i < 240; i++) {
      await flushMicrotasks();
      waiting.add(snapshot().find(({ name }) => name === "orders")?.waiters.length ?? 0);
      time.advance(250);
    }
    await flushMicrotasks();
    controller.abort();
    const page = new Frame(tracks, []).parts("", 600).things;
    const outcomes = new Set([...measurements.values.keys()].map(outcomeOf).filter((outcome) => outcome !== undefined));
    return { lease, errors, warnings: warnings.seen, outcomes, waited: Math.max(...waiting), page };
  } finally {
    time.restore();
  }
}

const rows = rowsOfPage();

test("docs/running-redis.md: the lists have an item for each trouble that is tried, and no other", () => {
  assert.deepEqual(rows.map(({ trouble }) => trouble).sort(), Object.keys(troubles).sort());
});

for (const row of rows) {
  test(`docs/running-redis.md: ${row.trouble}`, async () => {
    const { lease, errors, warnings, outcomes, waited, page } = await suffer(troubles[row.trouble]!);
    const isFinal = row.kind === "final";
    const [words] = quoted(row.error);
    const reason = reasons[row.trouble] ?? words!;
    if (row.kind !== "none") {
      assert.equal(errors.length, 2, "both calls fail");
      const [timedOut, failed] = isFinal ? [undefined, ...errors] : errors;
      assert.equal((failed as Error).message.includes(words!), true, chain(failed));
      if (isFinal) { for (const error of errors) assert.equal((error as Error).message, (failed as Error).message); }
      else {
        assert.equal((timedOut as Error).name, "TimeoutError");
        const { cause } = timedOut as Error;
        assert.ok([words!, reason].some((text) => chain(cause).includes(text)), chain(timedOut));
      }
      if (!isFinal) assert.equal(waited, 2, "both wait");
    }
    const isLost = !KEPT.includes(row.trouble);
    const warned = isLost
      ? ["INTERLOCK_LEASE_LOST", reason]
      : row.trouble === "no connection for push"
      ? ["INTERLOCK_REDIS_SUBSCRIPTION", `cannot be opened: ${MAXCLIENTS.message}`]
      : [];
    assert.deepEqual(warnings.length, warned.length / 2, warnings.join("\n"));
    for (const text of warned) assert.ok(warnings[0]!.includes(text), warnings[0]);
    const counted = new Set(errors.map((error) => (error as Error).name === "TimeoutError" ? "timeout" : "error"));
    const lost = isLost ? ["lost"] : [];
    const failures = RENEWED.includes(row.trouble) ? [] : ["renewal_failures"];
    assert.deepEqual([...outcomes].sort(), [...counted, ...lost, ...failures].sort());
    assert.equal(/\d failed/.test(page), outcomes.has("timeout") || outcomes.has("error"));
    assert.equal(/\d lost/.test(page), outcomes.has("lost"));
    if (outcomes.has("lost")) assert.equal(lease!.signal.aborted, true);
  });
}

const connects = {
  "node-redis": (url: string) => useNode(createClient({ url })),
  ioredis: (url: string) => useIo(new Redis(url, { lazyConnect: true })),
};

for (const [name, connect] of Object.entries(connects)) {
  test(`docs/running-redis.md: ${name} after its password was changed`, async () => {
    await using server = await Server.start();
    await server.send("CONFIG", "SET", "requirepass", "old");
    const client = await connect(`redis://:old@127.0.0.1:${server.port}`);
    await using _ = ending(() => client.close());
    const lock = new RedisLock(client.backend, "orders", { ttl: 1500 });
    await (await lock.acquire()).release();
    await server.send("CONFIG", "SET", "requirepass", "new");
    await server.send("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    const words = name === "ioredis" ? /does not accept the password \(WRONGPASS/ : /asks for a password \(NOAUTH/;
    for (const limits of [{ timeout: 20_000 }, undefined]) {
      await assert.rejects(lock.acquire(limits), (error) => error instanceof RedisError && words.test(error.message));
    }
    await server.send("CONFIG", "SET", "requirepass", "old");
    await until(() => lock.acquire().then((lease) => lease.release(), () => false));
  });
}
