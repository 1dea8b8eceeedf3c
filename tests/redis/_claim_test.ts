/** One call in line: when it asks, and what it learns from an answer. */
import assert from "node:assert/strict";
import { RedisLock } from "../../lib/redis/mod.ts";
import { test } from "../_test.ts";
import { drain, withFakeTime } from "../_tools.ts";
import { scripted, serverTime } from "./_scripted.ts";

for (const [ttl, beat] of [[3000, 1000], [9000, 3000], [300, 1000]] as const) {
  test(`Claim: without push, one that waits asks each ${beat} ms with a ttl of ${ttl} ms`, () =>
    withFakeTime(async (time) => {
      // However much is left to the holder.
      for (const left of [0.2, 1.05, 1.5, 1.95, 3]) {
        let inLine = false;
        const sent: number[] = [];
        const backend = scripted((command) => {
          if (command !== "acquire" || !inLine) return;
          sent.push(performance.now());
          return [0, serverTime(), 1, serverTime() + left * beat * 1000];
        });
        const lock = new RedisLock(backend, "a", { ttl });
        await (await lock.acquire()).release();
        inLine = true;
        const controller = new AbortController();
        const call = assert.rejects(lock.acquire({ signal: controller.signal }));
        for (let i = 0; sent.length < 4; i++) {
          assert.ok(i < 50 * beat);
          time.advance(1);
          await drain();
        }
        for (let i = 1; i < 4; i++) {
          const pause = sent[i]! - sent[i - 1]!;
          assert.ok(pause >= beat && pause <= beat + 110, `${pause} ms with ${left} beats left to the holder`);
        }
        controller.abort();
        await call;
        await drain();
      }
    }));
}
