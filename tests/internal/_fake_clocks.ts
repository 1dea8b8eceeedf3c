/** Every kind of replaced clock that the tests know, and how to run a function under it. */
import assert from "node:assert/strict";
import { install } from "@sinonjs/fake-timers";
import { runtime } from "../_test.ts";
import { FakeTime } from "../_tools.ts";

/** A replaced clock, as the tests drive it. */
export interface Fake {
  advance(ms: number): void;
  restore(): void;
}

/** Replaces setTimeout and clearTimeout by the same functions each time, and nothing else. */
const handMade: () => Fake = (() => {
  let now = 0;
  let timers: { at: number; fn: () => void }[] = [];
  const start = (fn: () => void, delay = 0) => {
    const timer = { at: now + delay, fn };
    timers.push(timer);
    return timer;
  };
  const clear = (timer: unknown) => {
    assert.ok(timer === undefined || timers.includes(timer as never), "a timer of another clock is cleared");
    timers = timers.filter((one) => one !== timer);
  };
  const real = { setTimeout, clearTimeout };
  return (): Fake => {
    [now, timers] = [0, []];
    Object.assign(globalThis, { setTimeout: start, clearTimeout: clear });
    return {
      advance: (ms) => {
        const end = now + ms;
        for (;;) {
          const [due] = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
          if (due === undefined) break;
          now = due.at;
          timers = timers.filter((one) => one !== due);
          due.fn();
        }
        now = end;
      },
      restore: () => void Object.assign(globalThis, real),
    };
  };
})();

/** Sinon's; Vitest and Jest use the same. The runners of the tests themselves need `nextTick`. */
export function sinon(toFake?: ("setTimeout" | "clearTimeout" | "Date" | "setImmediate" | "queueMicrotask")[]): Fake {
  const clock = install(toFake ? { toFake } : { toNotFake: ["nextTick", "queueMicrotask"] });
  return { advance: (ms) => void clock.tick(ms), restore: () => clock.uninstall() };
}

export const fakes: Record<string, () => Fake> = {
  "hand-made, with performance": () => new FakeTime(),
  "hand-made, only setTimeout": handMade,
  "sinon": () => sinon(),
  "sinon, only setTimeout": () => sinon(["setTimeout", "clearTimeout"]),
  "sinon, without performance": () => sinon(["setTimeout", "clearTimeout", "Date"]), // the default of Vitest 2
};
if (runtime === "node") {
  const { mock } = await import("node:test");
  fakes["node:test"] = () => {
    mock.timers.enable({ apis: ["setTimeout", "Date"] }); // by default it has no performance either
    return { advance: (ms) => mock.timers.tick(ms), restore: () => mock.timers.reset() };
  };
}
if (runtime === "bun") {
  const bunTest = "bun:test"; // a variable, so that no other run-time looks for it
  const { jest } = await import(bunTest);
  fakes["bun:test"] = () => {
    jest.useFakeTimers();
    return { advance: (ms) => void jest.advanceTimersByTime(ms), restore: () => void jest.useRealTimers() };
  };
}

/** Calls `fn` under that clock. */
export async function under(make: () => Fake, fn: (fake: Fake) => Promise<void>): Promise<void> {
  const fake = make();
  try {
    await fn(fake);
  } finally {
    fake.restore();
  }
}
