/** The one subscription of a client: who is said to be reachable by push, and what happens when the line is down. */
import assert from "node:assert/strict";
import type { Backend } from "../../../lib/redis/mod.ts";
import type { Listener, Push } from "../../../lib/redis/internal/subscription.ts";
import { Session } from "../../../lib/redis/internal/session.ts";
import { test } from "../../_test.ts";
import { flushMicrotasks, withFakeTime } from "../../_tools.ts";

interface Subscription {
  readonly onGap: () => void;
  readonly onLost: (forGood?: boolean) => void;
  confirm(): Promise<void>;
  stopped: boolean;
}

/** A client on paper that listens as it is told to. */
class Paper implements Backend {
  readonly subscriptions: Subscription[] = [];

  evalsha(): Promise<unknown> {
    return Promise.reject(new Error("called"));
  }

  eval(): Promise<unknown> {
    return Promise.reject(new Error("called"));
  }

  subscribe(
    _channel: string,
    _onMessage: (message: string) => void,
    onGap: () => void,
    onLost?: (forGood?: boolean) => void,
  ): Promise<() => void> {
    return new Promise((resolve) => {
      const confirm = () => {
        resolve(() => void (one.stopped = true));
        return flushMicrotasks();
      };
      const one: Subscription = { onGap, onLost: (forGood) => onLost?.(forGood), confirm, stopped: false };
      this.subscriptions.push(one);
    });
  }
}

/** Somebody in line, who notes how to be told each time that there is reason to ask. */
class Waiter implements Listener {
  readonly asked: string[] = [];
  readonly #push: Push;

  constructor(push: Push) {
    this.#push = push;
    push.add("a waiter", this);
  }

  granted(): void {}

  ask(): void {
    this.asked.push(this.#push.reach);
    this.#push.add("a waiter", this); // as the answer that it is still in line has it do
  }
}

function pushTest(name: string, fn: (push: Push, paper: Paper, advance: (ms: number) => void) => Promise<void>): void {
  test(name, () =>
    withFakeTime(async (time) => {
      const paper = new Paper();
      const { push } = new Session(paper);
      await fn(push, paper, (ms) => time.advance(ms));
      push.delete("a waiter");
      time.advance(1000);
      assert.ok(paper.subscriptions.every(({ stopped }) => stopped), "somebody still listens");
    }));
}

pushTest(
  "while the line is down, everybody is asked to ask, and told by push again when it is back",
  async (push, paper) => {
    const waiter = new Waiter(push);
    const [line] = paper.subscriptions as [Subscription];
    assert.equal(push.reach, "h");
    await line.confirm();
    assert.deepEqual(waiter.asked, ["p"]);
    line.onLost();
    line.onLost(); // a try to connect again failed
    assert.deepEqual(waiter.asked, ["p", "h"]);
    assert.equal(push.reach, "h");
    line.onGap();
    assert.deepEqual(waiter.asked, ["p", "h", "p"]);
    line.onLost();
    assert.deepEqual(waiter.asked, ["p", "h", "p", "h"]);
    assert.equal(paper.subscriptions.length, 1);
    assert.equal(line.stopped, false);
  },
);

pushTest("a line that goes down before it is confirmed is down", async (push, paper) => {
  const waiter = new Waiter(push);
  const [line] = paper.subscriptions as [Subscription];
  line.onLost();
  await line.confirm();
  assert.equal(push.reach, "h");
  line.onGap();
  assert.equal(push.reach, "p");
  assert.equal(waiter.asked.at(-1), "p");
});

pushTest("a line that is down for good is opened anew while somebody waits", async (push, paper, advance) => {
  const waiter = new Waiter(push);
  const [first] = paper.subscriptions as [Subscription];
  await first.confirm();
  advance(5000);
  first.onLost();
  first.onLost(true);
  assert.equal(first.stopped, true);
  assert.deepEqual(waiter.asked, ["p", "h", "h"]);
  assert.equal(paper.subscriptions.length, 2);
  const second = paper.subscriptions[1]!;
  await second.confirm();
  assert.equal(waiter.asked.at(-1), "p");
  first.onLost(true); // what is over means nothing any more
  assert.equal(push.reach, "p");

  // It does not go round in a circle when it ends as soon as it has begun.
  second.onLost(true);
  assert.equal(push.reach, "h");
  assert.equal(paper.subscriptions.length, 2);
  advance(1000);
  waiter.ask(); // the next heartbeat
  assert.equal(paper.subscriptions.length, 3);
  paper.subscriptions[2]!.onLost(true);
  await paper.subscriptions[2]!.confirm(); // too late
  assert.equal(push.reach, "h");
});

pushTest("a line that is down is let go of when nobody waits", async (push, paper, advance) => {
  const waiter = new Waiter(push);
  const [line] = paper.subscriptions as [Subscription];
  await line.confirm();
  line.onLost();
  push.delete("a waiter");
  assert.equal(line.stopped, false);
  advance(1000);
  assert.equal(line.stopped, true);
  line.onGap();
  assert.equal(push.reach, "h");
  assert.equal(waiter.asked.length, 2);
});
