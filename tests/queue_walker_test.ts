/**
 * Seeded random walks over a Queue next to a plain model of what the contract says, with and without an observer.
 * SEED=n repeats a walk.
 */
import assert from "node:assert/strict";
import { Queue } from "../mod.ts";
import { assertSoundQueue } from "./sound/queue.ts";
import { CountingController, type FakeTime, flushMicrotasks, type Random, watch, type Watched } from "./_tools.ts";
import { register, STEPS } from "./_walk.ts";

/** One call, in the model. */
interface Call {
  readonly watched: Watched<unknown>;
  readonly controller: CountingController | undefined;
  readonly deadline: number;
  /** The item that it puts in, or that it has to get. */
  item: number | undefined;
  state: "pending" | "fulfilled" | "rejected";
}

/** A list of items and two lists of calls. */
class Model {
  items: number[] = [];
  getters: Call[] = [];
  putters: Call[] = [];
  joiners: Call[] = [];
  /** The items that went in for which taskDone was not called. */
  unfinished = 0;
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Moves items on as long as there is one and a call for it. */
  pump(): void {
    for (;;) {
      if (this.putters.length > 0 && this.items.length < this.#capacity) {
        const putter = this.putters.shift()!;
        putter.state = "fulfilled";
        this.put(putter.item!);
      } else if (this.getters.length > 0 && this.items.length > 0) {
        const getter = this.getters.shift()!;
        getter.state = "fulfilled";
        getter.item = this.items.shift();
      } else return;
    }
  }

  put(item: number): void {
    this.items.push(item);
    this.unfinished++;
  }

  /** Calls of join end when everything is done. */
  settle(): void {
    if (this.unfinished > 0) return;
    for (const joiner of this.joiners) joiner.state = "fulfilled";
    this.joiners = [];
  }

  leave(which: (call: Call) => boolean): void {
    for (const call of [...this.getters, ...this.putters, ...this.joiners].filter(which)) call.state = "rejected";
    this.getters = this.getters.filter(({ state }) => state === "pending");
    this.putters = this.putters.filter(({ state }) => state === "pending");
    this.joiners = this.joiners.filter(({ state }) => state === "pending");
  }
}

async function walk(random: Random, time: FakeTime, capacity: number): Promise<number> {
  const [queue, model] = [new Queue<number>(capacity), new Model(capacity)];
  const shared = [new CountingController(), new CountingController()];
  let calls: Call[] = [];
  let [now, next, got] = [0, 0, 0];
  const begin = (
    waiters: "getters" | "putters" | "joiners",
    make: (options: object) => Promise<unknown>,
    item?: number,
  ) => {
    const timeout = random.pick([0, 33, 77, Infinity]);
    const controller = random.pick([undefined, ...shared, new CountingController()]);
    const watched = watch(make({ timeout, signal: controller?.signal }));
    const call: Call = { watched, controller, deadline: now + timeout, item, state: "pending" };
    calls.push(call);
    model[waiters].push(call);
    model.pump();
    model.settle();
    if (timeout === 0) model.leave((one) => one === call);
  };
  const abort = () => {
    const waiting = [...model.getters, ...model.putters, ...model.joiners];
    const { controller } = waiting.length > 0 ? random.pick(waiting) : { controller: undefined };
    if (controller === undefined) return;
    controller.abort();
    assert.equal(controller.listeners, 0);
    const index = shared.indexOf(controller);
    if (index >= 0) shared[index] = new CountingController();
    model.leave((call) => call.controller === controller);
  };
  const advance = () => {
    const ms = 10 * random.below(4);
    time.advance(ms);
    now += ms;
    model.leave(({ deadline }) => deadline <= now);
  };
  const tryPut = () => {
    const room = model.putters.length === 0 && model.items.length < capacity;
    assert.equal(queue.tryPut(next), room);
    if (room) model.put(next);
    next++;
    model.pump();
  };
  const tryGet = () => {
    assert.equal(queue.tryGet()?.value, model.items.shift());
    model.pump();
  };
  const put = () => {
    const item = next++;
    begin("putters", (options) => queue.put(item, options), item);
  };
  const join = () => begin("joiners", (options) => queue.join(options));
  const taskDone = () => {
    if (model.unfinished === 0) return assert.throws(() => queue.taskDone(), RangeError);
    queue.taskDone();
    model.unfinished--;
    model.settle();
  };
  const get = () => begin("getters", (options) => queue.get(options));
  for (let step = 0; step < STEPS; step++) {
    random.pick([put, put, get, get, tryPut, tryGet, taskDone, taskDone, taskDone, join, abort, advance])();
    assertSoundQueue(queue);
    assert.deepEqual([queue.size, queue.getting, queue.putting], [
      model.items.length,
      model.getters.length,
      model.putters.length,
    ]);
    if (random.below(3) === 0) continue;
    await flushMicrotasks();
    for (const { watched, state, item } of calls) {
      assert.equal(watched.state, state);
      if (state === "fulfilled" && watched.value !== undefined) assert.equal(watched.value, item, `${++got} got`);
    }
    calls = calls.filter(({ state }) => state === "pending");
  }
  queue.cancel("end");
  for (let got = model.unfinished - model.items.length; got > 0; got--) queue.taskDone();
  assert.throws(() => queue.taskDone(), RangeError);
  assertSoundQueue(queue);
  await flushMicrotasks();
  assert.ok(calls.every(({ watched }) => watched.state !== "pending"));
  for (const controller of shared) assert.equal(controller.listeners, 0);
  return got;
}

for (const capacity of [1, 3, Infinity]) {
  register(`Queue of ${capacity}`, async (random, time) => {
    const got = await walk(random, time, capacity);
    assert.ok(got > STEPS / 20, `${got} items got`);
  });
}
