/** Registers random walks by a fake clock. */
import assert from "node:assert/strict";
import { Ledger } from "./diagnostics/_ledger.ts";
import { test } from "./_test.ts";
import { type FakeTime, type Random, seeded, withFakeTime } from "./_tools.ts";

export const STEPS = 4000;

/** Each walk runs with and without an observer, whose events must keep their invariants and end with the walk. */
export function register(name: string, fn: (random: Random, time: FakeTime) => Promise<void>): void {
  test(`walk: ${name}`, () => seeded((random) => withFakeTime((time) => fn(random, time))));
  test(`walk: ${name}, observed`, () =>
    seeded((random) =>
      withFakeTime(async (time) => {
        using ledger = new Ledger();
        await fn(random, time);
        ledger.assertSettled();
        assert.ok(ledger.count > 1000, `${ledger.count} events`);
      })
    ));
}
