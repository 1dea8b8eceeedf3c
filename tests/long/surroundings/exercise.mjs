/** Uses a copy of the package, as it was lowered or in a realm whose globals were replaced; resolves to what came of it. */

const pause = () => new Promise((resolve) => setTimeout(resolve, 1));

export async function exercise(copy) {
  const { acquireAll, Condition, GracefulShutdown, Lock, Pool, Queue, RateLimiter, RwLock, Semaphore } = copy;
  const lock = new Lock({ name: "orders" });
  const holder = await lock.acquire();
  const late = await lock.acquire({ timeout: 5 }).catch((error) => `${error.name}: ${error.message}`);
  const controller = new AbortController();
  const cancelled = lock.acquire({ signal: controller.signal }).catch((error) => error.name);
  const next = lock.run(pause);
  controller.abort();
  holder[Symbol.dispose ?? Symbol.for("Symbol.dispose")]();
  await next;
  const pool = new Pool(2, { rate: new RateLimiter(5, 1) });
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
  const shutdown = new GracefulShutdown({ grace: 100, signals: [] });
  shutdown.track(() => {});
  shutdown.request("over");
  const { ok } = await shutdown.finished;
  return {
    ...{ late, cancelled: await cancelled, mapped, array, failed, task: task.status, got: await got },
    ...{ notified: await notified, ok, shown: `${lock.locked} ${holder.held}` },
  };
}
