/** Scenario B: each of asyncio's primitives at work, next to what goes wrong without it. */
import { Barrier, Event, Lock, Pool, RwLock, Semaphore, SetEvent, TimeoutLock } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";
import { tooEarly } from "../barrier.ts";
import { Buffer } from "../condition.ts";
import { readBack } from "../lock.ts";
import { burst } from "../semaphore.ts";
import { drain } from "../set_event.ts";
import { isStuck } from "../timeout_lock.ts";
import type { Lane, Stage } from "./lanes.ts";
import type { Row } from "./orders.ts";

const STEP = 60; // ms of work

/** Shows that a lane waits, unless the wait is over at once. */
async function waited<T>(lane: Lane, wait: Promise<T>): Promise<T> {
  const showing = setTimeout(() => lane.is("waits"));
  return await wait.finally(() => clearTimeout(showing));
}

/** Shows that a lane waits until `enter` lets it in, works, and leaves. */
async function visit(lane: Lane, enter: () => Promise<Disposable>, work = STEP): Promise<void> {
  using _ = await waited(lane, enter());
  lane.is("holds");
  await sleep(work);
  lane.is("idle");
}

const open = () => Promise.resolve({ [Symbol.dispose]() {} });
const named = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name} ${i + 1}`);

export async function lock(stage: Stage): Promise<Row[]> {
  stage.say("10 pairs of tasks write i and i+1 under key i, yield, and read back. Six of the tasks:");
  const lock = new Lock();
  await stage.picture(named("task", 6), (lanes) => Promise.all(lanes.map((lane) => visit(lane, () => lock.acquire()))));
  const [without, held] = [await readBack(open), await readBack(() => lock.acquire())];
  return [{ scenario: "lock", without: `${without} of 20 read their value`, with: `${held} of 20` }];
}

export async function timeoutLock(stage: Stage): Promise<Row[]> {
  stage.say("Task 1 holds for long; task 2 waits at most 100 ms; task 3 waits until it is granted.");
  const lock = new TimeoutLock(100);
  await stage.picture(named("task", 3), (lanes) =>
    Promise.all([
      visit(lanes[0]!, () => lock.acquire(), 300),
      visit(lanes[1]!, () => lock.acquire()).catch(() => lanes[1]!.is("timed out")),
      visit(lanes[2]!, () => lock.acquire({ timeout: Infinity }), 100),
    ]));
  const raced = new Lock();
  const race = () => Promise.race([raced.acquire(), sleep(20).then(() => Promise.reject(new Error("too late")))]);
  const verdict = (stuck: boolean) => stuck ? "stuck" : "free";
  return [{
    scenario: "timeout_lock",
    without: `race with a timer: ${verdict(await isStuck(raced, race))}`,
    with: verdict(await isStuck(lock, () => lock.acquire({ timeout: 20 }))),
  }];
}

export async function event(stage: Stage): Promise<Row[]> {
  stage.say("Four runners wait for the start.");
  const start = new Event();
  let wakeUps = 0, asked = 0;
  await stage.picture(named("runner", 4), async (lanes) => {
    setTimeout(() => start.set(), 300);
    await Promise.all(lanes.map(async (lane, i) => {
      await waited(lane, start.wait());
      wakeUps++;
      lane.is("works");
      await sleep(STEP * (i + 1));
      lane.is("idle");
    }));
  });
  let started = false;
  setTimeout(() => started = true, 100);
  for (; !started; asked++) await sleep(1);
  return [{
    scenario: "event",
    without: `polling asked ${asked} times`,
    with: `${wakeUps} wake-ups for 4`,
  }];
}

export async function setEvent(stage: Stage): Promise<Row[]> {
  stage.say("A server waits until its connections are closed, at most 400 ms.");
  const connections = new SetEvent<Promise<void>>();
  const stop = new AbortController();
  let left = 0;
  await stage.picture([...named("connection", 3), "slow one", "shutdown"], async (lanes) => {
    for (const [i, lane] of lanes.slice(0, 4).entries()) {
      lane.is("open");
      const lasts = sleep(i === 3 ? 60_000 : 100 * (i + 1), undefined, { signal: stop.signal });
      connections.track(lasts.then(() => lane.is("idle"), () => lane.is("cut")));
    }
    lanes[4]!.is("waits");
    left = await drain(connections, 400);
    stop.abort();
    await connections.wait();
    lanes[4]!.is("idle");
  });
  // A hand-written one fails on a set that never had a member: its event is never set.
  const handWritten = new Event();
  const stuck = await handWritten.wait({ timeout: 50 }).then(() => "open", () => "stuck");
  const idle = await drain(new SetEvent(), 50) === 0 ? "open at once" : "waits";
  return [
    { scenario: "set_event, idle server", without: `by hand: ${stuck}`, with: idle },
    { scenario: "set_event, slow client", without: "", with: `${left} cut after the grace time` },
  ];
}

export async function condition(stage: Stage): Promise<Row[]> {
  stage.say("A buffer with room for 2: consumers wait while it is empty, producers while it is full.");
  const buffer = new Buffer<number>(2);
  const items = [1, 2, 3, 4, 5, 6], taken: number[] = [];
  await stage.picture(["producer", "consumer"], async ([producer, consumer]) => {
    const turn = async (lane: Lane, act: () => Promise<unknown>, work: number) => {
      await waited(lane, act());
      lane.is("works");
      await sleep(work);
    };
    const produce = async () => {
      for (const item of items) await turn(producer!, () => buffer.put(item), 20);
      producer!.is("idle");
    };
    const consume = async () => {
      for (const _ of items) await turn(consumer!, async () => taken.push(await buffer.take()), 100);
      consumer!.is("idle");
    };
    await Promise.all([consume(), produce()]);
  });
  const array: number[] = [];
  const missed = items.filter(() => array.shift() === undefined).length;
  return [{
    scenario: "condition",
    without: `an array: ${missed} of 6 missed`,
    with: `${taken.filter((item, i) => item === items[i]).length} of 6 in order`,
  }];
}

export async function semaphore(stage: Stage): Promise<Row[]> {
  stage.say("Nine requests to a gateway that takes three at a time.");
  const gateway = new Semaphore(3);
  await stage.picture(
    named("request", 9),
    (lanes) => Promise.all(lanes.map((lane, i) => visit(lane, () => gateway.acquire(), STEP + 20 * i))),
  );
  const [without, limited] = [await burst(open), await burst(() => gateway.acquire())];
  return [{ scenario: "semaphore", without: `${without} at once`, with: `${limited} at once` }];
}

export async function barrier(stage: Stage): Promise<Row[]> {
  stage.say("Three workers, two rounds: the second begins when all have ended the first.");
  const meeting = new Barrier(3);
  await stage.picture(named("worker", 3), (lanes) =>
    Promise.all(lanes.map(async (lane, i) => {
      for (let round = 0; round < 2; round++) {
        lane.is("works");
        await sleep(STEP * (1 + 2 * i));
        lane.is("waits");
        await meeting.wait();
      }
      lane.is("idle");
    })));
  const [without, met] = [await tooEarly(() => Promise.resolve()), await tooEarly(() => meeting.wait())];
  return [{ scenario: "barrier", without: `${without} began too early`, with: `${met} began too early` }];
}

export async function rwLock(stage: Stage): Promise<Row[]> {
  stage.say("Readers share the table; the writer, third in the queue, is alone.");
  const table = new RwLock(), plain = new Lock();
  const { most } = await readAndWrite(stage, () => table.reader.acquire(), () => table.writer.acquire());
  stage.say("The same behind a plain Lock:");
  const locked = await readAndWrite(stage, () => plain.acquire(), () => plain.acquire());
  return [{ scenario: "rw_lock", without: `${locked.most} reader at a time`, with: `${most} readers at a time` }];
}

async function readAndWrite(stage: Stage, reader: () => Promise<Disposable>, writer: () => Promise<Disposable>) {
  let readers = 0, most = 0;
  const counted = async () => {
    const guard = await reader();
    most = Math.max(most, ++readers);
    return { [Symbol.dispose]: () => (readers--, guard[Symbol.dispose]()) };
  };
  await stage.picture(
    ["reader 1", "reader 2", "writer", "reader 3", "reader 4"],
    (lanes) => Promise.all(lanes.map((lane) => visit(lane, lane.name === "writer" ? writer : counted, 120))),
  );
  return { most };
}

export async function pool(stage: Stage): Promise<Row[]> {
  stage.say("A pool of 3; ten tasks of 0, 60, 120 … 540 ms. The producer waits while no slot is free.");
  const slots = 3;
  const starts: number[] = [];
  let inside = 0, most = 0;
  await stage.picture(["producer", ...named("task", 10)], async ([producer, ...lanes]) => {
    await using pool = new Pool(slots);
    const begun = performance.now();
    for (const [steps, lane] of lanes.entries()) {
      const task = pool.createTask(async () => {
        starts.push(STEP * Math.round((performance.now() - begun) / STEP));
        most = Math.max(most, ++inside);
        lane.is("works");
        await sleep(steps * STEP);
        lane.is("idle");
        inside--;
      });
      await waited(producer!, task);
      producer!.is("idle");
    }
  });
  stage.say(`started at about ${starts.join(", ")} ms`);
  let unlimited = 0, mostUnlimited = 0;
  await Promise.all(Array.from({ length: 10 }, async () => {
    mostUnlimited = Math.max(mostUnlimited, ++unlimited);
    await sleep(1);
    unlimited--;
  }));
  return [{ scenario: "pool", without: `${mostUnlimited} at once`, with: `${most} at once` }];
}
