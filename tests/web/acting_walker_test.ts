/**
 * Random walks over the locks of the platform, here a manager of the tests' own, in which signals, observers and running
 * functions act in the middle of whatever happens, and locks are stolen.
 */
import assert from "node:assert/strict";
import { type Acquirable, type WebGuard, WebLock, WebRwLock } from "../../lib/web/mod.ts";
import { ActingWalk, walkActing } from "../_acting_walk.ts";
import { test } from "../_test.ts";
import { type FakeTime, flushMicrotasks, type Random } from "../_tools.ts";
import { OwnLockManager } from "./_lock_manager.ts";
import { CountedLocks, steal } from "./_managers.ts";

class Walk extends ActingWalk {
  readonly locks = new CountedLocks(new OwnLockManager());
  readonly #guards: WebGuard[] = [];
  readonly #acts: readonly (() => void)[];

  constructor(random: Random, time: FakeTime) {
    super(random, time);
    const { locks } = this;
    const { reader, writer } = new WebRwLock("name", { locks });
    const sides = [new WebLock("name", { locks }), new WebLock("name", { locks, mode: "shared" }), reader, writer];
    const any = () => random.pick(sides);
    this.#acts = [
      () => this.call("acquire", (options) => this.#kept(any().acquire(options))),
      () => this.call("acquire", (options) => this.#kept(any().acquire(options))),
      () => this.call("try", () => this.#kept(any().tryAcquire())),
      () => this.call("run", (options) => any().run(({ signal }) => this.work(signal), options)),
      () => void (random.below(5) === 0 && steal(locks, "name").catch(() => {})), // which may be stolen, too
    ];
  }

  async #kept(
    acquired: ReturnType<WebLock["tryAcquire"] | Acquirable<WebGuard>["tryAcquire"]>,
  ): Promise<WebGuard | undefined> {
    const guard = await acquired;
    if (guard !== undefined) this.#guards.push(guard);
    return guard;
  }

  override act(): void {
    if (this.random.below(2) === 0) this.random.pick(this.#acts)();
    else this.common();
  }

  override check(): void {
    for (const { held, signal } of this.#guards) assert.ok(!held || !signal.aborted, "held and lost");
  }

  override async end(): Promise<void> {
    this.calmDown();
    for (let round = 0; round < 50; round++) {
      await flushMicrotasks();
      for (const one of this.held.splice(0)) one.release();
      for (const end of this.running) end(false);
      this.time.advance(50);
    }
    await flushMicrotasks();
    this.check();
    assert.deepEqual(this.pending, [], "these calls never end");
    assert.ok(this.#guards.every(({ held }) => !held));
    const last = await new WebLock("name", this).tryAcquire();
    assert.ok(last, "the platform's lock is free");
    await last.release();
    assert.deepEqual(this.listening, 0, "a signal still has a listener");
  }
}

test(`walk over the platform's locks: observers that act: each call ends, and nothing is left`, () =>
  walkActing(100, 100, (random, time) => new Walk(random, time)));
