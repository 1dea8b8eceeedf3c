/**
 * A process that loops until its standard input ends: it acquires, reports to the resource, writes a few times, leaves
 * and releases. It complains of everything that a caller must never see.
 */
import { connect } from "node:net";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Lease,
  LeaseLostError,
  RedisKeyedMutex,
  RedisLock,
  RedisRateLimiter,
  RedisRwLock,
  RedisSemaphore,
  TimeoutError,
  type WaitOptions,
} from "../../../lib/redis/mod.ts";
import { connectNode } from "../_clients.ts";
import { byClock } from "./_clock.ts";
import { INTERVAL, LIMIT, PERMITS } from "./_permits.ts";
import type { Message } from "./_resource.ts";
import { Turns } from "./_turns.ts";

/** The settings of a worker. */
export interface Orders {
  readonly url: string;
  readonly resource: number;
  readonly worker: string;
  readonly kind: Kind;
  readonly ttl: number;
  /** Milliseconds of a hold; a whole number of writes is spread over them. */
  readonly hold: number;
  /** The most milliseconds that it waits. */
  readonly timeout: number;
  /** Milliseconds by which its wall clock is wrong. */
  readonly skew: number;
  /** Whether the server's clock can be set. */
  readonly clock: boolean;
}

export type Kind = "lock" | "semaphore" | "keyed" | "reader" | "writer" | "planted" | "adopted" | "starter";

const orders = JSON.parse(process.argv[2]!) as Orders;
const { ttl, hold, timeout, worker } = orders;
/** The number of keys that a keyed one uses in turn. */
const KEYS = 3;

const wallClock = Date.now;
Date.now = () => wallClock() + orders.skew;

const socket = connect(orders.resource, "127.0.0.1").setNoDelay(true);
const replies = createInterface({ input: socket })[Symbol.asyncIterator]();

async function report(message: Partial<Message>): Promise<boolean> {
  socket.write(JSON.stringify({ worker, fence: 0, good: 0, weight: 1, waited: 0, ...message }) + "\n");
  return (await replies.next()).value === "ok";
}

const complaints: string[] = [];
process.on("unhandledRejection", (error) => complaints.push(`unhandled rejection: ${error}`));

const { backend: real, close } = await connectNode(orders.url);
const turns = new Turns();
const timed = orders.clock ? byClock(real) : real;
const backend = orders.kind === "starter" ? turns.watch(timed) : timed;
const options = { ttl };
const keyed = new RedisKeyedMutex(backend, options);
const rw = new RedisRwLock(backend, "shared", options);
const lock = new RedisLock(backend, "shared", options);
const semaphore = new RedisSemaphore(backend, "shared", PERMITS, options);
const limiter = new RedisRateLimiter(backend, "shared", LIMIT, INTERVAL);
const other = orders.kind === "adopted" ? await secondLock() : undefined;
let turn = 0;

async function secondLock() {
  const { backend, close } = await connectNode(orders.url);
  return { lock: new RedisLock(backend, "shared", options), close };
}

/** Whether this process was running without a pause lately: neither stopped nor blocked. */
function awake(): boolean {
  return performance.now() - lastBeat < 200 && performance.now() - lastGap > 2000;
}

let lastBeat = performance.now();
let lastGap = -Infinity;
setInterval(() => {
  if (performance.now() - lastBeat > 200) lastGap = performance.now();
  lastBeat = performance.now();
}, 20).unref();

/** Broken on purpose, to test the harness: a lock that trusts its time-out and releases any holder's hold. */
async function planted(): Promise<Lease> {
  const take = "return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0";
  while (await backend.eval(take, ["planted"], [worker, "30"]) !== 1) await sleep(1);
  const release = () => backend.eval("return redis.call('DEL', KEYS[1])", ["planted"], []).then(() => true);
  const lease = { held: true, ttl, fencingToken: ++turn, signal: new AbortController().signal };
  return { ...lease, expiresAt: Date.now() + ttl, release } as unknown as Lease;
}

/** A hold that another connection takes over at once; the lease before it is lost. */
async function adopted(options: WaitOptions): Promise<Lease> {
  const lease = await lock.acquire(options);
  let [taken, released]: [Lease | undefined, boolean] = [undefined, false];
  try {
    taken = await other!.lock.adopt(lease.id);
  } finally { // Redis may refuse to hand it over; it would be renewed until the process ends
    released = await lease.release().catch(() => false);
  }
  if (taken === undefined) throw new TimeoutError("it was lost before");
  if (released) complaints.push("released a hold that was handed over");
  if (taken.fencingToken !== lease.fencingToken) complaints.push("a hold that was handed over has another token");
  return taken;
}

const acquire: Record<Exclude<Kind, "starter">, (options: WaitOptions) => Promise<Lease>> = {
  lock: (options) => lock.acquire(options),
  semaphore: (options) => semaphore.acquire(options),
  keyed: (options) => keyed.acquire(`key ${turn++ % KEYS}`, options),
  reader: (options) => rw.reader.acquire(options),
  writer: (options) => rw.writer.acquire(options),
  planted,
  adopted,
};

/** One start within the rate limit; some callers give up early. */
async function startOnce(): Promise<void> {
  const begun = performance.now();
  const patience = Math.random() < 0.3 ? 20 + Math.floor(Math.random() * INTERVAL) : timeout;
  const options = Math.random() < 0.5 ? { timeout: patience } : { signal: AbortSignal.timeout(patience) };
  try {
    await limiter.acquire(options);
  } catch (error) {
    const name = (error as Error).name;
    if (name !== "TimeoutError" && name !== "RedisError") complaints.push(`acquire: ${error}`);
    const late = performance.now() - begun - patience;
    if (late > 1000 && awake()) complaints.push(`an acquire settled ${late} ms after its time`);
    return name === "TimeoutError" ? undefined : await sleep(20);
  }
  await report({ say: "start", name: "shared", at: turns.take(), waited: performance.now() - begun });
}

/** The resource that it enters: one for each key. */
function place(): string {
  return orders.kind === "keyed" ? `key ${(turn - 1) % KEYS}` : "shared";
}

async function visit(): Promise<void> {
  const start = performance.now();
  let lease: Lease;
  try {
    if (orders.kind === "starter") return await startOnce();
    lease = await acquire[orders.kind]({ timeout });
  } catch (error) {
    const late = performance.now() - start - timeout;
    if (late > 1000) complaints.push(`an acquire settled ${late} ms after its time`);
    if (error instanceof TimeoutError) return;
    if (!(error instanceof Error) || error.name !== "RedisError") complaints.push(`acquire: ${error}`);
    return await sleep(20); // limits the load while every command fails
  }
  await use(lease, performance.now() - start);
}

async function use(lease: Lease, waited: number): Promise<void> {
  const name = place();
  const fence = lease.fencingToken;
  const weight = orders.kind === "writer" ? PERMITS : 1;
  let aborts = 0;
  lease.signal.addEventListener("abort", () => {
    aborts++;
    const late = Date.now() - lease.expiresAt;
    if (late > 300 && awake()) complaints.push(`the signal aborted ${late} ms late`);
    if (!(lease.signal.reason instanceof LeaseLostError)) complaints.push(`aborted with ${lease.signal.reason}`);
  });
  const good = () => {
    const rest = Math.max(0, lease.held ? lease.expiresAt - Date.now() : 0);
    return { good: rest, until: wallClock() + rest };
  };
  if (good().good === 0) return void await lease.release();
  await report({ say: "enter", name, fence, weight, waited, ...good() });
  for (let left = hold; left > 0 && lease.held; left -= 5) {
    await report({ say: "write", name, fence, weight, ...good() });
    await sleep(5);
  }
  // A late write by a holder that trusts its hold for too long: the resource must reject it after another entry.
  if (!lease.held) await report({ say: "write", name, fence, weight });
  await report({ say: "leave", name, fence });
  const held = lease.held;
  const released = await lease.release().catch((error) => {
    if (error.name !== "RedisError") complaints.push(`release: ${error}`);
  });
  if (released === true && !held) complaints.push("released what was lost");
  if (aborts > 1) complaints.push("the signal aborted twice");
}

let over = false;
process.stdin.on("data", () => {}).on("end", () => over = true);
console.log("ready");
while (!over) await visit();
for (const text of complaints) await report({ say: "note", text });
await close();
await other?.close();
socket.end();
