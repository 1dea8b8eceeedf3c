/** The one subscription of a client: its start and its end, and the waiters that ask because a message may be missed. */
import assert from "node:assert/strict";
import type { Backend } from "../../../lib/redis/mod.ts";
import type { Listener, Subscription } from "../../../lib/redis/call/subscription.ts";
import { Namespace } from "../../../lib/redis/namespace.ts";
import { RedisStore } from "../../../lib/redis/store/redis_store.ts";
import { test } from "../../_test.ts";
import { flushMicrotasks, withFakeTime } from "../../_tools.ts";

interface Attempt {
  readonly onMessage: (message: string) => void;
  readonly onGap: () => void;
  readonly onEnd: () => void;
  confirm(): Promise<void>;
  fail(): Promise<void>;
  stopped: boolean;
}

/** A client whose subscriptions the test controls. */
class Paper implements Backend {
  readonly subscriptions: Attempt[] = [];

  evalsha(): Promise<unknown> {
    return Promise.reject(new Error("called"));
  }

  eval(): Promise<unknown> {
    return Promise.reject(new Error("called"));
  }

  subscribe(
    _channel: string,
    onMessage: (message: string) => void,
    onGap: () => void,
    onEnd?: () => void,
  ): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const confirm = () => {
        resolve(() => void (one.stopped = true));
        return flushMicrotasks();
      };
      const fail = () => {
        reject(new Error("Socket closed unexpectedly"));
        return flushMicrotasks();
      };
      const one: Attempt = { onMessage, onGap, onEnd: () => onEnd?.(), confirm, fail, stopped: false };
      this.subscriptions.push(one);
    });
  }
}

/** A waiter that notes how it can be notified each time that there is reason to ask. */
class Waiter implements Listener {
  readonly queue = "a queue";
  readonly asked: string[] = [];
  readonly granted = (fence: number) => void this.asked.push(String(fence));
  readonly #subscription: Subscription;
  readonly #id: string;

  constructor(subscription: Subscription, id = "a waiter") {
    this.#subscription = subscription;
    this.#id = id;
    subscription.add(id, this);
  }

  reschedule(): void {}

  /** As if an answer comes at once, by which the server knows the subscription if it is live. */
  checkTurn(): void {
    this.asked.push(this.#subscription.live ? "c" : "h");
    this.#subscription.add(this.#id, this);
    if (!this.#subscription.live) this.#subscription.restart();
  }
}

function pushTest(
  name: string,
  fn: (push: Subscription, paper: Paper, advance: (ms: number) => void) => Promise<void>,
): void {
  test(name, () =>
    withFakeTime(async (time) => {
      const paper = new Paper();
      const { subscription: push } = new Namespace(new RedisStore(paper), "interlock:");
      await fn(push, paper, (ms) => time.advance(ms));
      push.delete("a waiter");
      time.advance(1000);
      assert.ok(paper.subscriptions.every(({ stopped }) => stopped), "still subscribed");
    }));
}

pushTest("waiters ask what they have missed once a connection is back that was down", async (push, paper) => {
  const waiter = new Waiter(push);
  const [line] = paper.subscriptions as [Attempt];
  assert.equal(push.live, false);
  await line.confirm();
  assert.deepEqual(waiter.asked, ["c"]);
  line.onGap();
  assert.deepEqual(waiter.asked, ["c", "c"]);
  assert.equal(paper.subscriptions.length, 1);
  assert.equal(line.stopped, false);
});

pushTest("an unconfirmed subscription begins again once the server answers", async (push, paper, advance) => {
  const waiter = new Waiter(push);
  advance(5000);
  waiter.checkTurn(); // a heartbeat
  assert.equal(paper.subscriptions.length, 1);
  advance(1);
  waiter.checkTurn();
  const [first, second] = paper.subscriptions as [Attempt, Attempt];
  await second.confirm();
  assert.equal(push.live, true);
  await first.confirm(); // too late
  assert.deepEqual([first.stopped, second.stopped, push.live], [true, false, true]);
});

pushTest("unconfirmed subscriptions, which may keep connections, stay few", async (push, paper, advance) => {
  const waiter = new Waiter(push);
  for (let second = 0; second < 3600; second++) {
    advance(1000);
    waiter.checkTurn();
  }
  assert.ok(paper.subscriptions.length <= 10, `${paper.subscriptions.length} in an hour`);
  for (const one of paper.subscriptions) await one.confirm();
});

pushTest("a subscription that has ended is begun again while there are waiters", async (push, paper, advance) => {
  const waiter = new Waiter(push);
  const [first] = paper.subscriptions as [Attempt];
  await first.confirm();
  advance(5000);
  first.onEnd();
  assert.equal(first.stopped, true);
  assert.deepEqual(waiter.asked, ["c", "h"]);
  assert.equal(paper.subscriptions.length, 2);
  const second = paper.subscriptions[1]!;
  await second.confirm();
  assert.equal(waiter.asked.at(-1), "c");
  first.onEnd(); // events of one that has ended are ignored
  assert.equal(push.live, true);

  // The same when it ends as soon as it has begun, if the server answers.
  second.onEnd();
  assert.deepEqual([push.live, paper.subscriptions.length], [false, 3]);
  paper.subscriptions[2]!.onEnd();
  await paper.subscriptions[2]!.confirm(); // too late
  await paper.subscriptions[3]!.confirm();
  assert.equal(push.live, true);

  // Not once nothing needs it.
  push.delete("a waiter");
  paper.subscriptions[3]!.onEnd();
  assert.equal(paper.subscriptions.length, 4);
});

pushTest("a subscription ends after its last waiter, even while it is down", async (push, paper, advance) => {
  const waiter = new Waiter(push);
  const [line] = paper.subscriptions as [Attempt];
  await line.confirm();
  push.delete("a waiter");
  advance(999); // a wait that follows soon needs no other connection
  assert.equal(line.stopped, false);
  advance(1);
  assert.equal(line.stopped, true);
  line.onGap();
  assert.equal(push.live, false);
  assert.equal(waiter.asked.length, 1);
});

pushTest("the first waiter of a queue asks whether it was granted without a message", async (push, paper) => {
  const [first, second] = [new Waiter(push, "a"), new Waiter(push, "b")];
  const { gaps } = push;
  await (paper.subscriptions as [Attempt])[0].confirm();
  assert.notEqual(push.gaps, gaps);
  assert.deepEqual([first.asked, second.asked], [["c"], []]);
  assert.deepEqual([first, second].map((one) => push.isFirst(one)), [true, false]);
  push.checkFirstOf(first.queue);
  assert.equal(first.asked.length, 2);
  for (const id of ["a", "b"]) push.delete(id);
});

pushTest("a message of another shape is ignored, and throws nothing into the client", async (push, paper) => {
  const waiter = new Waiter(push);
  const [one] = paper.subscriptions as [Attempt];
  await one.confirm();
  for (const message of ["", "a waiter", "a waiter NaN", "waiter 7 8", "other 7"]) one.onMessage(message);
  assert.deepEqual(waiter.asked, ["c"]);
});

pushTest("a subscription that the server does not know is begun anew, but not in a loop", async (push, paper) => {
  new Waiter(push);
  const [one] = paper.subscriptions as [Attempt];
  await one.confirm();
  push.restart();
  assert.deepEqual([paper.subscriptions.length, one.stopped], [2, true]);
  push.restart(); // the answer to an earlier command
  assert.equal(paper.subscriptions.length, 2);
  await paper.subscriptions[1]!.confirm();
});

pushTest("a subscription that fails begins again after half a second or more", async (push, paper, advance) => {
  const waiter = new Waiter(push);
  const [one] = paper.subscriptions as [Attempt];
  await one.fail();
  for (let i = 0; i < 5; i++, advance(100)) waiter.checkTurn();
  assert.equal(paper.subscriptions.length, 1);
  waiter.checkTurn();
  assert.equal(paper.subscriptions.length, 2);
  await paper.subscriptions[1]!.confirm();
  assert.equal(push.live, true);
  one.stopped = true; // it never was one
});
