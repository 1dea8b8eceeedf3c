/**
 * Random walks over GracefulShutdown in which everything that it calls acts: work, callbacks, clean-up steps, handlers,
 * WebSockets and listeners of its signals track, defer, request and let time pass in the middle of whatever happens.
 */
import assert from "node:assert/strict";
import { assertSoundShutdown } from "../sound/shutdown/graceful_shutdown.ts";
import { setImmediate } from "node:timers";
import { ClosedError, GracefulShutdown, type ShutdownReport } from "../../mod.ts";
import { ActingWalk, walkActing } from "../_acting_walk.ts";
import { test } from "../_test.ts";
import { type FakeTime, flushMicrotasks, type Random, watch, type Watched } from "../_tools.ts";

/** A WebSocket that is closed a step after it was asked to, or never. */
class Socket {
  readonly #listeners: (() => void)[] = [];
  readonly #act: () => void;
  readonly #fails: boolean;

  constructor(act: () => void, fails: boolean) {
    this.#act = act;
    this.#fails = fails;
  }

  addEventListener(_: string, listener: () => void): void {
    this.#act();
    this.#listeners.push(listener);
  }

  close(code?: number): void {
    this.#act();
    if (code === undefined) throw new Error("does not close");
    if (this.#fails) throw new RangeError("no such code");
  }

  terminate(): void {
    this.end();
    this.#act();
  }

  end(): void {
    for (const listener of this.#listeners.splice(0)) listener();
  }
}

class Walk extends ActingWalk {
  readonly grace = 100;
  readonly shutdown: GracefulShutdown;
  readonly #answer: (request: Request) => Promise<Response | void>;
  readonly #sockets: Socket[] = [];
  /** The steps that were added, and those that began, by number. */
  readonly #added: number[] = [];
  readonly #begun: number[] = [];
  /** How many were added when each of them began. */
  readonly #cleaning: number[] = [];
  /** How many of them run. */
  #stepping = 0;
  readonly #finished: Watched<ShutdownReport>;
  readonly #acts: readonly (() => void)[];

  constructor(random: Random, time: FakeTime) {
    super(random, time);
    const shutdown = this.shutdown = new GracefulShutdown({
      signals: [],
      grace: this.grace,
      delay: random.pick([0, 40]),
    });
    this.#finished = watch(shutdown.finished);
    for (const signal of [shutdown.signal, shutdown.forced]) signal.addEventListener("abort", () => this.callback());
    this.#answer = shutdown.handler(() => this.work(shutdown.forced), { label: () => (this.callback(), "request") });
    this.#acts = [
      () => this.#track(),
      () => this.#track(),
      () => void this.#answer(new Request("http://localhost/")).catch(() => {}),
      () => this.#use(() => shutdown.defer(this.#step())),
      () => this.#use(() => shutdown.onShutdown((signal) => this.work(signal))),
      () => this.#use(() => this.#open()),
      () => this.#sockets.pop()?.end(),
      () => void (random.below(15) === 0 && shutdown.request("over")),
    ];
  }

  #track(): void {
    const act = () => this.callback();
    this.shutdown.track((signal) => this.work(signal)).then(act, act);
  }

  #open(): void {
    const socket = new Socket(() => this.callback(), this.random.below(3) === 0);
    this.#sockets.push(socket);
    this.shutdown.webSocket(socket);
  }

  /** A clean-up step. They run one at a time. */
  #step(): (signal: AbortSignal) => Promise<void> {
    const number = this.#added.length;
    this.#added.push(number);
    return async (signal) => {
      this.#cleaning.push(this.#added.length);
      this.#begun.push(number);
      assert.ok(++this.#stepping === 1 || signal.aborted, "two steps at a time");
      try {
        await this.work(signal);
      } finally {
        this.#stepping--;
      }
    };
  }

  #use(fn: () => void): void {
    if (this.#finished.state === "fulfilled") return;
    const before = this.#added.length;
    try {
      fn();
    } catch (error) {
      assert.ok(error instanceof ClosedError, String(error));
      this.#added.length = before;
    }
  }

  override act(): void {
    if (this.random.below(2) === 0) this.random.pick(this.#acts)();
    else this.common();
  }

  override check(): void {
    const { active, labels, ready, signal, forced } = this.shutdown;
    assertSoundShutdown(this.shutdown);
    assert.equal(labels.length, active);
    assert.ok(!ready || !signal.aborted, "ready");
    assert.ok(signal.aborted || !forced.aborted, "forced before it was asked for");
    if (this.#finished.state === "fulfilled") assert.equal(ready, false);
  }

  override async end(): Promise<void> {
    this.calmDown();
    const { shutdown } = this;
    // Its work ends, or hangs, or all does but the clean-up.
    const mayEnd = this.random.pick([() => true, () => false, () => this.#begun.length === 0]);
    shutdown.request("at the end");
    const started = performance.now();
    for (let round = 0; round < 200 && this.#finished.state === "pending"; round++) {
      await flushMicrotasks();
      await new Promise((resolve) => setImmediate(resolve)); // Node prints warnings in a later turn
      this.check();
      if (mayEnd()) { for (const end of this.running) end(false); }
      this.time.advance(5);
    }
    assert.equal(this.#finished.state, "fulfilled", "it ends");
    const elapsed = performance.now() - started;
    assert.ok(elapsed <= this.grace + 10 * (this.#added.length + 3), `within the grace time: ${elapsed}`);
    assert.deepEqual(this.#begun.toSorted((a, b) => a - b), this.#added, "each step begins once");
    const [before] = this.#cleaning;
    assert.deepEqual(
      this.#begun.filter((step) => step < (before ?? 0)),
      this.#added.slice(0, before ?? 0).toReversed(),
      "the last one first",
    );
    const { ok, drained, remaining, errors } = this.#finished.value!;
    assert.deepEqual([drained, ok], [remaining.length === 0, remaining.length === 0 && errors.length === 0]);
    if (drained) assert.equal(shutdown.active, 0);
    let late = false;
    await shutdown.defer(() => void (late = true));
    assert.equal(late, true);
    for (const end of [...this.running]) end(false);
    for (const socket of this.#sockets) socket.end();
    await flushMicrotasks();
    assert.deepEqual(shutdown.labels, []);
    this.time.advance(10_000);
  }
}

test("walk over a shutdown in which everything acts: it ends in time, and each step runs once, in order", () =>
  walkActing(150, 60, (random, time) => new Walk(random, time)));
