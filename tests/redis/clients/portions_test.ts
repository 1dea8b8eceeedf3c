/** Handing commands over in portions: order is kept, and none stays behind. */
import assert from "node:assert/strict";
import { Portions } from "../../../lib/redis/clients/portions.ts";
import { test } from "../../_test.ts";
import { watch } from "../../_tools.ts";
import { sinon, under } from "../../internal/_fake_clocks.ts";

/** The end of a step of the event loop. */
const endOfStep = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Runs `fn` while `performance` shows the time that it sets: how long a step takes does not depend on the machine. */
async function timed(fn: (set: (ms: number) => void) => Promise<void>): Promise<void> {
  const { now } = performance;
  let time = 0;
  performance.now = () => time;
  try {
    await fn((ms) => time = ms);
  } finally {
    performance.now = now;
  }
}

test("Portions: commands of one step are handed over sixteen a step, in order", () =>
  timed(async () => {
    const portions = new Portions();
    const sent: number[] = [];
    const answers = Array.from({ length: 40 }, (_, i) => portions.send(() => Promise.resolve(sent.push(i))));
    assert.equal(sent.length, 16);
    await endOfStep();
    assert.equal(sent.length, 32);
    const last = portions.send(() => Promise.resolve(sent.push(40))); // behind those that wait
    await endOfStep();
    assert.deepEqual(sent, Array.from({ length: 41 }, (_, i) => i));
    assert.deepEqual(await Promise.all([...answers, last]), sent.map((i) => i + 1));
  }));

for (const cause of ["a step that took long", "more than 64 others"]) {
  test(`Portions: after ${cause}, the next 250 are handed over, and others once these are answered`, () =>
    timed(async (set) => {
      const portions = new Portions();
      const count = cause === "a step that took long" ? 60 : 600;
      const answers: (() => void)[] = [];
      const command = () => new Promise<void>((resolve) => answers.push(resolve));
      const sent = Array.from({ length: count }, () => portions.send(command));
      assert.equal(answers.length, 16);
      if (count === 60) set(30);
      await endOfStep();
      assert.equal(answers.length, Math.min(266, count));
      for (let i = 16; i < 266; i++) answers[i]?.();
      await endOfStep();
      assert.equal(answers.length, Math.min(516, count));
      for (const answer of answers) answer();
      await endOfStep();
      for (const answer of answers.slice(516)) answer();
      await Promise.all(sent);
    }));
}

test("Portions: commands without an answer keep no other one back", async () => {
  const portions = new Portions();
  const answers: (() => void)[] = [];
  for (let i = 0; i < 300; i++) void portions.send(() => new Promise<void>((resolve) => answers.push(resolve)));
  assert.equal(await portions.send(() => Promise.resolve(answers.length)), 300);
  for (const answer of answers) answer();
  await endOfStep();
});

test("Portions: urgent commands are next, in their order", () =>
  timed(async () => {
    const portions = new Portions();
    const sent: number[] = [];
    const send = (i: number, isUrgent: boolean) => portions.send(() => Promise.resolve(sent.push(i)), isUrgent);
    const answers = Array.from({ length: 20 }, (_, i) => send(i, false));
    answers.push(send(20, true), send(21, true));
    await endOfStep();
    assert.deepEqual(sent, [...Array.from({ length: 16 }, (_, i) => i), 20, 21, 16, 17, 18, 19]);
    await Promise.all(answers);
  }));

test("Portions: a command that fails, also by throwing, holds no other one up", async () => {
  const portions = new Portions();
  const failing = Array.from({ length: 17 }, (_, i) =>
    portions.send<number>(() => {
      if (i % 2 === 0) throw new Error(`thrown ${i}`);
      return Promise.reject(new Error(`rejected ${i}`));
    }));
  const fine = portions.send(() => Promise.resolve("fine"));
  const outcomes = await Promise.allSettled(failing);
  assert.deepEqual(outcomes.map((outcome) => outcome.status), failing.map(() => "rejected"));
  assert.equal(await fine, "fine");
});

test("Portions: a clock of a test that replaces setImmediate keeps no command back", async () => {
  const portions = new Portions();
  const send = () => Promise.all(Array.from({ length: 16 }, (_, i) => portions.send(() => Promise.resolve(i))));
  await under(() => sinon(["setImmediate"]), async () => void await send());
  await endOfStep();
  const later = watch(send());
  await endOfStep();
  assert.equal(later.state, "fulfilled");
});
