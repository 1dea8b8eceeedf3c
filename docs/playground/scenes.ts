/** One scene for each primitive: its tasks, a sentence and a line of code. */
import {
  acquireAll,
  Barrier,
  BoundedSemaphore,
  Condition,
  Event,
  GracefulShutdown,
  KeyedMutex,
  KeyedRateLimiter,
  KeyedSemaphore,
  Lock,
  lockOnArguments,
  Pool,
  Queue,
  RateLimiter,
  RwLock,
  Semaphore,
  SetEvent,
  shareOnArguments,
  SingleFlight,
  TaskGroup,
  TimeoutLock,
} from "../../mod.ts";
import type { Lane } from "./lane.ts";
import type { Stage } from "./stage.ts";

/** The page and the pictures of the guide show this of a primitive. */
export interface Scene {
  readonly about: string;
  readonly code: string;
  /** The name of its limit, if it has one. */
  readonly limit?: string;
  /** What a dot stands for. */
  readonly dots?: string;
  /** The waits that can be cancelled. Default: any, also by impatience. */
  readonly cancels?: "any" | "by button" | "none";
  play(stage: Stage): Promise<unknown>;
}

const letter = (i: number) => "ABC"[i % 3]!;
const user = (i: number) => ["ann", "ann", "bob"][i % 3]!;

export const scenes: Readonly<Record<string, Scene>> = {
  Lock: {
    about: "One at a time, first come, first served. The releaser hands the lock to the next waiter.",
    code: "using _ = await lock.acquire({ signal });",
    play(stage) {
      const lock = new Lock();
      return stage.each((lane, i) => stage.part(lane, i, (signal, inside) => lock.run(inside, { signal })));
    },
  },
  TimeoutLock: {
    about: "A lock whose waiters time out (here after two and a half pieces of work). A holder never expires.",
    code: "const lock = new TimeoutLock(1500);",
    play(stage) {
      const lock = new TimeoutLock(2.5 * stage.settings.work);
      return stage.each((lane, i) => stage.part(lane, i, (signal, inside) => lock.run(inside, { signal })));
    },
  },
  Semaphore: {
    about: "At most n at a time. A release grants to the first waiter.",
    code: "using _ = await semaphore.acquire({ signal });",
    limit: "permits",
    play(stage) {
      const semaphore = new Semaphore(stage.settings.limit);
      return stage.each((lane, i) =>
        stage.part(lane, i, (signal, inside) => semaphore.run(inside, { signal }), "shares")
      );
    },
  },
  BoundedSemaphore: {
    about: "A semaphore that throws on over-release: the last lane gives back a permit that it never took.",
    code: "seats.release(); // RangeError when nothing was taken",
    limit: "permits",
    async play(stage) {
      const seats = new BoundedSemaphore(stage.settings.limit);
      await stage.each((lane, i) => stage.part(lane, i, (signal, inside) => seats.run(inside, { signal }), "shares"));
      await stage.part(stage.lane("one more"), 0, () => Promise.resolve().then(() => seats.release()));
    },
  },
  RwLock: {
    about: "Readers together, a writer alone, in one queue: neither side starves.",
    code: "using _ = await rw.reader.acquire(); // or rw.writer",
    play(stage) {
      const rw = new RwLock();
      const writes = (i: number) => i % 4 === 2;
      return stage.each(
        (lane, i) =>
          writes(i)
            ? stage.part(lane, i + 1, (signal, inside) => rw.writer.run(inside, { signal }))
            : stage.part(lane, i, (signal, inside) => rw.reader.run(inside, { signal }), "shares"),
        (i) => writes(i) ? `writer ${i + 1}` : `reader ${i + 1}`,
      );
    },
  },
  KeyedMutex: {
    about:
      "One at a time for each key. Different keys don't wait for each other, and an idle key leaves nothing behind.",
    code: 'using _ = await users.acquire("ann", { signal });',
    play(stage) {
      const users = new KeyedMutex<string>();
      return stage.each(
        (lane, i) => stage.part(lane, i, (signal, inside) => users.run(user(i), inside, { signal })),
        (i) => `${user(i)}: order ${i + 1}`,
      );
    },
  },
  KeyedSemaphore: {
    about: "At most n at a time for each key.",
    code: 'using _ = await domains.acquire("A", { signal });',
    limit: "permits per key",
    play(stage) {
      const domains = new KeyedSemaphore<string>(stage.settings.limit);
      const key = (i: number) => "AB"[i % 4 === 3 ? 1 : 0]!;
      return stage.each(
        (lane, i) => stage.part(lane, i, (signal, inside) => domains.run(key(i), inside, { signal }), "shares"),
        (i) => `${i + 1}: key ${key(i)}`,
      );
    },
  },
  lockOnArguments: {
    about: "Calls of one function with equal arguments run one at a time; other calls don't wait.",
    code: "const pay = lockOnArguments(mutex, [0])(async (user, cents) => …);",
    cancels: "none",
    play(stage) {
      const pay = lockOnArguments(new KeyedMutex<string>(), [0])((_user: string, inside: () => Promise<void>) =>
        inside()
      );
      return stage.each(
        (lane, i) => stage.part(lane, i, (_signal, inside) => pay(letter(i), inside)),
        (i) => `pay("${letter(i)}")`,
      );
    },
  },
  SingleFlight: {
    about: "Calls with the same key share one run: the first one starts it, and all get its result.",
    code: "const user = await users.run(id, (signal) => load(id, signal));",
    play(stage) {
      const users = new SingleFlight<string>();
      return stage.each(
        (lane, i) => stage.part(lane, i, (signal, inside) => users.run(letter(i), inside, { signal }), "shares"),
        (i) => `${i + 1}: key ${letter(i)}`,
      );
    },
  },
  shareOnArguments: {
    about: "Calls of one function with equal arguments share one run.",
    code: "const find = shareOnArguments(flights, [0])(async (user) => …);",
    cancels: "none",
    play(stage) {
      const find = shareOnArguments(new SingleFlight<string>(), [0])((_user: string, inside: () => Promise<void>) =>
        inside()
      );
      return stage.each(
        (lane, i) => stage.part(lane, i, (_signal, inside) => find(letter(i), inside), "shares"),
        (i) => `find("${letter(i)}")`,
      );
    },
  },
  acquireAll: {
    about: "Each task holds two keys at once, listed in any order. It cannot deadlock.",
    code: "await using _ = await acquireAll([keys.at(a), keys.at(b)], { signal });",
    play(stage) {
      const keys = new KeyedMutex<string>();
      const pair = (i: number) => i % 2 === 0 ? [letter(i), letter(i + 1)] : [letter(i + 1), letter(i)];
      return stage.each(
        (lane, i) =>
          stage.part(lane, i, async (signal, inside) => {
            await using _ = await acquireAll(pair(i).map((key) => keys.at(key)), { signal });
            await inside();
          }),
        (i) => `${i + 1}: ${pair(i).join(" and ")}`,
      );
    },
  },
  Event: {
    about: "A flag: set() releases all waiters, and later calls return at once.",
    code: "await event.wait({ signal });",
    dots: "set()",
    async play(stage) {
      const event = new Event();
      const setter = stage.lane("setter");
      const all = stage.each((lane, i) =>
        stage.part(lane, i, (signal, inside) => event.wait({ signal }).then(inside), "shares")
      );
      await stage.sleep(stage.settings.work * 1.4);
      setter.mark("●");
      event.set();
      await all;
    },
  },
  SetEvent: {
    about: "Open while the set is empty: the last lane waits until the last member has left.",
    code: "busy.track(promise); await busy.wait({ signal });",
    cancels: "by button",
    async play(stage) {
      const busy = new SetEvent<Promise<unknown>>();
      const all = stage.each((lane, i) => stage.part(lane, i, (_signal, inside) => busy.track(inside()), "shares"));
      await stage.sleep(stage.settings.work / 3);
      await stage.part(stage.lane("closes"), 0, async (signal) => await busy.wait({ signal }));
      await all;
    },
  },
  Condition: {
    about: "Consumers wait for an item. Each notification wakes one, which takes the lock back first.",
    code: "await condition.waitFor(() => items.length > 0, { signal });",
    dots: "notify()",
    async play(stage) {
      const condition = new Condition();
      let items = 0;
      const producer = stage.lane("producer");
      const all = stage.each(
        (lane, i) =>
          stage.part(lane, i, (signal, inside) =>
            condition.run(async () => {
              await condition.waitFor(() => items > 0, { signal });
              items--;
              await inside();
            }, { signal })),
        (i) => `consumer ${i + 1}`,
      );
      for (let i = 0; i < stage.settings.tasks; i++) {
        await stage.sleep(stage.settings.work);
        await condition.run(() => {
          items++;
          condition.notify();
          producer.mark("●");
        });
      }
      await all;
    },
  },
  Barrier: {
    about: "Each waits until all parties have arrived; then all of them go on.",
    code: "const index = await barrier.wait({ signal });",
    limit: "parties",
    async play(stage) {
      const { limit, tasks } = stage.settings;
      const barrier = new Barrier(limit);
      const late = stage.sleep(stage.settings.work * 2 + tasks * 200).then(() => barrier.abort());
      await stage.each(async (lane, i) => {
        await stage.sleep(i * 160);
        await stage.part(lane, i, (signal, inside) => barrier.wait({ signal }).then(inside), "shares");
      });
      await late;
    },
  },
  Queue: {
    about: "Items in order, to one consumer each. While it is full, the producer waits.",
    code: "await queue.put(item); for await (const item of queue) …",
    dots: "put()",
    limit: "capacity",
    async play(stage) {
      const { limit, tasks, work } = stage.settings;
      const queue = new Queue<number>(limit);
      const producer = stage.lane("producer");
      const consumers = ["consumer 1", "consumer 2"].map((name) => stage.lane(name));
      const consume = async (lane: Lane) => {
        lane.enter("waits");
        for await (const item of queue) {
          lane.enter("shares");
          await stage.sleep(stage.work(item));
          lane.enter("waits");
        }
        lane.rest();
        lane.mark("✓");
      };
      const all = consumers.map(consume);
      for (let item = 0; item < 2 * tasks; item++) {
        await stage.sleep(work / 8);
        producer.enter("waits");
        await queue.put(item);
        producer.rest();
        producer.mark("●");
      }
      queue.close();
      await Promise.all(all);
    },
  },
  TaskGroup: {
    about: "All succeed, or the first failure stops the rest: the third task fails, and the others are aborted.",
    code: "await using group = new TaskGroup(); group.run((signal) => load(url, signal));",
    cancels: "none",
    async play(stage) {
      const group = new TaskGroup();
      const play = (lane: Lane, i: number) =>
        stage.part(lane, i, (_signal, inside) =>
          group.run(async (signal) => {
            const aborted = new DOMException("aborted", "AbortError"); // by another task's failure
            const stopped = new Promise((_, reject) => signal.addEventListener("abort", () => reject(aborted)));
            const fail = async () => {
              await stage.sleep(stage.settings.work / 2);
              throw new Error("no");
            };
            await Promise.race([inside(), stopped, ...i === 2 ? [fail()] : []]);
          }), "shares");
      await stage.each(play);
      await group.join().catch(() => {}); // the failure is in its lane
    },
  },
  RateLimiter: {
    about: "At most n starts in any window of time (here four pieces of work long). There is nothing to release.",
    code: "await rate.acquire({ signal });",
    limit: "starts per window",
    play(stage) {
      const rate = new RateLimiter(stage.settings.limit, 4 * stage.settings.work);
      return stage.each((lane, i) => stage.part(lane, i, (signal, inside) => rate.run(inside, { signal }), "shares"));
    },
  },
  KeyedRateLimiter: {
    about: "At most n starts per key in any window of time (here four pieces of work long).",
    code: 'await requests.acquire("A", { signal });',
    limit: "starts per key and window",
    play(stage) {
      const requests = new KeyedRateLimiter<string>(stage.settings.limit, 4 * stage.settings.work);
      const key = (i: number) => "AB"[i % 4 === 3 ? 1 : 0]!;
      return stage.each(
        (lane, i) => stage.part(lane, i, (signal, inside) => requests.run(key(i), inside, { signal }), "shares"),
        (i) => `${i + 1}: key ${key(i)}`,
      );
    },
  },
  Pool: {
    about: "Functions run, at most n at a time. Each gets a signal that can cancel it while it runs.",
    code: "const result = await pool.run((signal) => work(signal));",
    limit: "slots",
    async play(stage) {
      const pool = new Pool(stage.settings.limit);
      await stage.each((lane, i) => stage.part(lane, i, (signal, inside) => pool.run(inside, { signal }), "shares"));
      await pool.join();
    },
  },
  GracefulShutdown: {
    about: "From the signal on, nothing new is accepted; requests in flight are finished within the grace time.",
    code: "const report = await shutdown.finished;",
    dots: "request()",
    cancels: "none",
    async play(stage) {
      const shutdown = new GracefulShutdown({ grace: 3 * stage.settings.work, signals: [] });
      const signal = stage.lane("shutdown");
      const all = stage.each(async (lane, i) => {
        await stage.sleep(i * stage.settings.work / 4);
        // The listening socket of a server would be closed: the system refuses the connection.
        if (shutdown.signal.aborted) return lane.mark("✕", "connection refused");
        await stage.part(lane, i, (_signal, inside) => shutdown.track(inside()), "shares");
      }, (i) => `request ${i + 1}`);
      await stage.sleep(stage.settings.work * 1.2);
      signal.enter("waits");
      signal.mark("●");
      shutdown.request("demo");
      await shutdown.finished;
      signal.rest();
      signal.mark("✓", "finished");
      await all;
    },
  },
};
