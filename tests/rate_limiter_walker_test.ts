/** A seeded random walk over a RateLimiter and a sliding window by counting all starts. SEED=n repeats a walk. */
import assert from "node:assert/strict";
import { RateLimiter } from "../mod.ts";
import { CountingController, flushMicrotasks, watch, type Watched } from "./_tools.ts";
import { register, STEPS } from "./_walk.ts";

/** One request to the limiter, in the model. */
interface Request {
  readonly permits: number;
  readonly deadline: number;
  readonly controller: CountingController | undefined;
  readonly watched: Watched<void>;
  state: "waiting" | "started" | "gone";
}

/** A sliding window by counting all starts, and a queue: the contract of RateLimiter in a few lines. */
class LimiterModel {
  now = 0;
  queue: Request[] = [];
  starts: number[] = [];
  readonly #limit: number;
  readonly #interval: number;

  constructor(limit: number, interval: number) {
    this.#limit = limit;
    this.#interval = interval;
  }

  tryStart(permits: number): boolean {
    const recent = this.starts.filter((start) => start > this.now - this.#interval);
    if (recent.length + permits > this.#limit) return false;
    this.starts = [...recent, ...Array<number>(permits).fill(this.now)];
    return true;
  }

  serve(): void {
    for (let head = this.queue[0]; head !== undefined && this.tryStart(head.permits); head = this.queue[0]) {
      head.state = "started";
      this.queue.shift();
    }
  }

  leave(which: (request: Request) => boolean): void {
    for (const request of this.queue.filter(which)) request.state = "gone";
    this.queue = this.queue.filter(({ state }) => state === "waiting");
    this.serve();
  }

  advance(ms: number): void {
    for (const end = this.now + ms; this.now < end;) {
      this.now++;
      this.serve();
    }
  }
}

register("RateLimiter", async (random, time) => {
  const [limit, interval] = [5, 50];
  const limiter = new RateLimiter(limit, interval);
  const model = new LimiterModel(limit, interval);
  const shared = [new CountingController(), new CountingController()];
  let requests: Request[] = [];
  let started = 0;
  const acquire = () => {
    const permits = random.pick([1, 1, 2, limit]);
    const timeout = random.pick([0, Infinity]); // which of a time-out and a start of one moment is first is left open
    const controller = random.pick([undefined, ...shared, new CountingController()]);
    const watched = watch(limiter.acquire({ permits, timeout, signal: controller?.signal }));
    const request: Request = { permits, deadline: model.now + timeout, controller, watched, state: "waiting" };
    requests.push(request);
    if (controller?.signal.aborted) request.state = "gone";
    else if (model.queue.length === 0 && model.tryStart(permits)) request.state = "started";
    else if (timeout === 0) request.state = "gone";
    else model.queue.push(request);
  };
  const tryAcquire = () => {
    const permits = 1 + random.below(limit);
    assert.equal(limiter.tryAcquire(permits), model.queue.length === 0 && model.tryStart(permits));
  };
  const abort = () => {
    const { controller } = model.queue.length > 0 ? random.pick(model.queue) : { controller: undefined };
    if (controller === undefined) return;
    controller.abort();
    const index = shared.indexOf(controller);
    if (index >= 0) shared[index] = new CountingController();
    model.leave((request) => request.controller === controller);
  };
  const advance = () => {
    const ms = 10 * random.below(4);
    time.advance(ms);
    model.advance(ms);
  };
  for (let step = 0; step < STEPS; step++) {
    random.pick([acquire, acquire, tryAcquire, abort, advance, advance])();
    assert.equal(limiter.waiting, model.queue.length);
    if (model.queue.length === 0) assert.equal(time.timers, 0);
    assert.ok(time.timers <= model.queue.length + 1);
    if (random.below(3) === 0) continue;
    await flushMicrotasks();
    const seen = { waiting: "pending", started: "fulfilled", gone: "rejected" };
    for (const { watched, state } of requests) assert.equal(watched.state, seen[state]);
    started += requests.filter(({ state }) => state === "started").length;
    requests = requests.filter(({ state }) => state === "waiting");
  }
  assert.ok(started > STEPS / 20, `${started} started`);
  for (const controller of shared) controller.abort();
  for (const { controller } of requests) controller?.abort();
  while (limiter.waiting > 0) time.advance(10);
  await flushMicrotasks();
});
