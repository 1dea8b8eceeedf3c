/** Replaces Promise and timers after the package was loaded, by the library that is named, and prints what works then. */
import assert from "node:assert/strict";
import { acquireAll, Condition, Lock, Pool, Queue, RwLock, Semaphore } from "@interlock/interlock";

const native = Promise;
const [, , library] = process.argv;
const replaced = {
  "zone.js": () => import("zone.js"),
  bluebird: async () => globalThis.Promise = (await import("bluebird")).default,
};
await replaced[library]();
assert.notEqual(Promise, native);

const pause = () => new Promise((resolve) => setTimeout(resolve, 1));

const lock = new Lock({ name: "orders" });
const holder = await lock.acquire();
const late = await lock.acquire({ timeout: 5 }).catch((error) => `${error.name}: ${error.message}`);
const controller = new AbortController();
const cancelled = lock.acquire({ signal: controller.signal }).catch((error) => error.name);
const next = lock.run(pause);
controller.abort();
holder.release();
await next;
const pool = new Pool(2);
const mapped = [];
for await (const n of pool.map([1, 2, 3], (n) => pause().then(() => 2 * n))) mapped.push(n);
const array = await pool.map([1, 2, 3], async (n) => (await pause(), 2 * n)).toArray();
const failed = await pool.map([1], () => pause().then(() => Promise.reject(new Error("failed")))).toArray()
  .catch((error) => error.message);
const task = await pool.createTask((signal) =>
  new Promise((_, reject) => signal.onabort = () => reject(signal.reason))
);
task.cancel();
await pool.join();
const group = await acquireAll([lock, new Semaphore(1), new RwLock().writer]);
await group.release();
const queue = new Queue();
const got = queue.get({ timeout: 1000 });
queue.tryPut(7);
const condition = new Condition(lock);
const notified = lock.run(() => condition.wait({ timeout: 1000 }).then(() => true));
await lock.run(() => condition.notify());
console.log(JSON.stringify({
  ...{ late, cancelled: await cancelled, mapped, array, failed, task: task.status, got: await got },
  notified: await notified,
}));
