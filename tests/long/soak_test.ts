/** A short soak, and whether the slope would show a leak; `deno task soak` runs for long. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "../_test.ts";
import { Series } from "../soak/_slope.ts";
import { soakIn } from "../soak/_processes.ts";

for (const runtime of ["deno", "node20", "node", "bun"] as const) {
  test(`soak: seconds of everything together in ${runtime}, alone and observed`, async () => {
    const [command, args] = await soakIn(runtime, { minutes: 0.1, seed: 1 + Date.now() % 2 ** 31 });
    const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
    assert.equal(status, 0, `${args.join(" ")}\n${stdout.slice(-3000)}${stderr.slice(-1000)}`);
  });
}

test("soak: what grows is seen, what swings is not", () => {
  const series = (value: (i: number) => number): Series => {
    const one = new Series("x", 4);
    for (let i = 0; i < 100; i++) one.add(i * 0.6, value(i));
    return one;
  };
  const leak = series((i) => 20 + i / 10);
  assert.ok(Math.abs(leak.perMinute - 10 * 100 / 100) < 0.2, `${leak.perMinute}`);
  assert.equal(leak.grows, true);
  assert.equal(series((i) => 20 + 3 * Math.sin(i)).grows, false);
  assert.equal(series(() => 20).growth, 0);
});
