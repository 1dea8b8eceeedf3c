/** One scene for each primitive: its tasks, a sentence and a line of code. */
import {
  acquireAll,
  Barrier,
  BoundedSemaphore,
  Condition,
  Event,
  GracefulShutdown,
  type KeyedLock,
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
  type WaitOptions,
} from "../../mod.ts";
import type { Lane } from "./lane.ts";
import type { Settings, Stage } from "./stage.ts";

/** The page shows this of a primitive. */
export interface Scene {
  readonly about: string;
  readonly code: string | ((settings: Settings) => string);
  /** The name of its limit, if it has one. */
  readonly limit?: string;
  /** What a dot stands for. */
  readonly dots?: string;
  /** The waits that can be cancelled. Default: any, also by impatience. */
  readonly cancels?: "any" | "by button" | "none";
  play(stage: Stage): Promise<unknown>;
}

/** A scene with a picture in the guide. */
export interface PicturedScene extends Scene {
  /** One line in the picture, which is also its alternative text: at most 52 characters. */
  readonly caption: string;
  /** The settings of the picture. Default: those of {@linkcode PICTURE}. */
  readonly picture?: Partial<Settings>;
}

export const PICTURE: Settings = { tasks: 6, work: 600, limit: 2, impatient: false };

const letter = (i: number) => "ABC"[i % 3]!;
const user = (i: number) => ["ann", "ann", "bob"][i % 3]!;

/** A key that shows in its lane when its task waits for it and holds it. */
function shown(key: KeyedLock, lane: Lane): KeyedLock {
  const { acquire, tryAcquire } = Object.getPrototypeOf(key) as KeyedLock;
  const held = <G>(guard: G): G => {
    if (guard !== undefined) lane.enter("holds");
    return guard;
  };
  return Object.assign(key, {
    tryAcquire: () => held(tryAcquire.call(key)),
    acquire(options?: WaitOptions) {
      lane.enter("waits");
      return acquire.call(key, options).then(held);
    },
  });
}

export const scenes: Readonly<Record<string, PicturedScene>> = {
  Lock: {
    about: "One at a time, first come, first served. The releaser hands the lock to the next waiter.",
    caption: "Four tasks take turns in order; two stop waiting",
    picture: { impatient: true },
    code: "using _ = await lock.acquire({ signal });",
    play(stage) {
      const lock = new Lock();
      return stage.each((lane, i) => stage.part(lane, i, (signal, inside) => lock.run(inside, { signal })));
    },
  },
  TimeoutLock: {
    about: "A lock whose waiters time out (here after two and a half pieces of work). A holder never expires.",
    caption: "The waits of tasks 5 and 6 time out after 1.5 s",
    code: ({ work }) => `const lock = new TimeoutLock(${2.5 * work});`,
    play(stage) {
      const lock = new TimeoutLock(2.5 * stage.settings.work);
      return stage.each((lane, i) => stage.part(lane, i, (signal, inside) => lock.run(inside, { signal })));
    },
  },
  Semaphore: {
    about: "At most n at a time. A release grants to the first waiter.",
    caption: "At most two tasks run; task 6 stops waiting",
    picture: { impatient: true },
    code: ({ limit }) => `const semaphore = new Semaphore(${limit});\nusing _ = await semaphore.acquire({ signal });`,
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
    caption: "At most two run; a release without a hold throws",
    code: ({ limit }) =>
      `const seats = new BoundedSemaphore(${limit});\nseats.release(); // RangeError when nothing was taken`,
    limit: "permits",
    async play(stage) {
      const seats = new BoundedSemaphore(stage.settings.limit);
      await stage.each((lane, i) => stage.part(lane, i, (signal, inside) => seats.run(inside, { signal }), "shares"));
      await stage.part(stage.lane("one more"), 0, () => Promise.resolve().then(() => seats.release()));
    },
  },
  RwLock: {
    about: "Readers together, a writer alone, in one queue: neither side starves.",
    caption: "Readers run side by side; the writer runs alone",
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
    caption: "Ann's orders take turns; Bob's does not wait",
    picture: { tasks: 3, work: 10, even: true },
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
    caption: "At most two tasks run for each key",
    code: ({ limit }) =>
      `const domains = new KeyedSemaphore(${limit});\nusing _ = await domains.acquire("A", { signal });`,
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
    caption: "Calls with equal arguments take turns",
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
    caption: "Calls with the same key share one run",
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
    caption: "Calls with equal arguments share one run",
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
    about: "Each task holds two keys at once, listed in any order, with a row for each key. It cannot deadlock.",
    caption: "Task 3 holds A while it waits for C; no deadlock",
    picture: { tasks: 3 },
    code: "await using _ = await acquireAll([keys.at(a), keys.at(b)], { signal });",
    cancels: "by button",
    async play(stage) {
      const keys = new KeyedMutex<string>();
      const pair = (i: number) => i % 2 === 0 ? [letter(i), letter(i + 1)] : [letter(i + 1), letter(i)];
      const lane = (i: number, key: string) => [key, stage.lane(`task ${i + 1}: ${key}`)] as const;
      const tasks = Array.from({ length: stage.settings.tasks }, (_, i) => pair(i).sort().map((key) => lane(i, key)));
      await stage.start(async (i) => {
        const lanes = new Map(tasks[i]);
        const controller = new AbortController();
        for (const lane of lanes.values()) stage.controllers.set(lane, controller);
        const locks = pair(i).map((key) => shown(keys.at(key), lanes.get(key)!));
        let end: Parameters<Lane["mark"]> = ["✓"];
        try {
          await using _ = await acquireAll(locks, { signal: controller.signal });
          await stage.sleep(stage.work(i));
        } catch (error) {
          end = ["✕", (error as Error).name];
        }
        const waiting = [...lanes.values()].find(({ state }) => state === "waits");
        for (const lane of lanes.values()) {
          lane.rest();
          if (waiting === undefined || lane === waiting) lane.mark(...end);
          stage.controllers.delete(lane);
        }
      });
    },
  },
  Event: {
    about: "A flag: set() releases all waiters, and later calls return at once.",
    caption: "set() lets all six waiting tasks run at once",
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
    caption: "The wait ends when the last of six tasks ends",
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
    caption: "Each notify() wakes the consumer that waited longest",
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
    caption: "Tasks wait until three have arrived, then all run",
    picture: { limit: 3 },
    code: ({ limit }) => `const barrier = new Barrier(${limit});\nconst index = await barrier.wait({ signal });`,
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
    caption: "The producer waits while the queue is full",
    code: ({ limit }) => `const queue = new Queue(${limit});\nawait queue.put(item); for await (const item of queue) …`,
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
    caption: "Task 3 fails; the group aborts those still running",
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
    caption: "At most two tasks start in any 2.4 s",
    code: ({ limit, work }) => `const rate = new RateLimiter(${limit}, ${4 * work});\nawait rate.acquire({ signal });`,
    limit: "starts per window",
    play(stage) {
      const rate = new RateLimiter(stage.settings.limit, 4 * stage.settings.work);
      return stage.each((lane, i) => stage.part(lane, i, (signal, inside) => rate.run(inside, { signal }), "shares"));
    },
  },
  KeyedRateLimiter: {
    about: "At most n starts per key in any window of time (here four pieces of work long).",
    caption: "At most two tasks start per key in any 2.4 s",
    code: ({ limit, work }) =>
      `const requests = new KeyedRateLimiter(${limit}, ${4 * work});\nawait requests.acquire("A", { signal });`,
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
    caption: "Two slots; task 6 is cancelled while it waits",
    picture: { impatient: true },
    code: ({ limit }) => `const pool = new Pool(${limit});\nconst result = await pool.run((signal) => work(signal));`,
    limit: "slots",
    async play(stage) {
      const pool = new Pool(stage.settings.limit);
      await stage.each((lane, i) => stage.part(lane, i, (signal, inside) => pool.run(inside, { signal }), "shares"));
      await pool.join();
    },
  },
  GracefulShutdown: {
    about:
      "After the signal and an optional delay, the server accepts no new connections. Requests in flight have the grace time to finish.",
    caption: "Requests in flight finish; new connections fail",
    code: ({ work }) =>
      `const shutdown = new GracefulShutdown({ grace: ${3 * work} });\nconst report = await shutdown.finished;`,
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
