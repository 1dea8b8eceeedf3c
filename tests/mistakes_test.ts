/** docs/mistakes.md shows the errors of common mistakes: each line there is made here, and its error compared. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { acquireAll, GracefulShutdown, KeyedMutex, Lock, Pool, Semaphore } from "../mod.ts";
import { memoryBackend, RedisLock } from "../lib/redis/mod.ts";
import { runtime, test } from "./_test.ts";

const page = readFileSync(new URL("../docs/mistakes.md", import.meta.url), "utf8");
const block = /## Mistakes that are caught\n+```console\n([^`]*)```/.exec(page)?.[1] ?? "";
const lines = block.trimEnd().split("\n").map((line) => line.split(/ {2,}/));

/** What TypeScript refuses. */
// deno-lint-ignore no-explicit-any
const wrong = (value: unknown) => value as any;
const lock = () => new Lock();

const mistakes: Readonly<Record<string, () => unknown>> = {
  'await lock.acquire({ timeout: "5" })': () => lock().acquire({ timeout: wrong("5") }),
  "await lock.acquire(5000)": () => lock().acquire(wrong(5000)),
  "await lock.acquire(signal)": () => lock().acquire(wrong(new AbortController().signal)),
  "acquireAll([users])": () => acquireAll([wrong(new KeyedMutex())]),
  "new Semaphore(-1)": () => new Semaphore(-1),
  "new RedisLock(…, { ttl: 5 })": () => new RedisLock(memoryBackend(), "orders", { ttl: 5 }),
  "await pool.map(urls, load)": async () => {
    await using pool = new Pool(1);
    await pool.map([1], (n) => n);
  },
  'new Pool("5")': () => new Pool(wrong("5")),
  "lock.run(work())": () => lock().run(wrong(Promise.resolve())),
  "using _ = lock.acquire()": () => {
    using _ = wrong(lock().acquire());
  },
  "shutdown.attach(app)": () => new GracefulShutdown({ signals: [] }).attach(wrong(() => {})),
  'new RedisLock(client, "orders")': () => new RedisLock(wrong({}), "orders"),
  "lock.release()": () => lock().release(),
};

/** Whether the message is the one of the page, in which … stands for anything. */
function isShown(shown: string, error: unknown): boolean {
  const parts = shown.split("…").map((part) => part.trim().replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(`${error}`);
}

test("mistakes: each mistake that it lists is tried here, and no other", () => {
  assert.deepEqual(lines.map(([code]) => code), Object.keys(mistakes));
});

// A remark may follow, behind another gap.
for (const [code = "", shown = ""] of lines) {
  // Its message is that of the run-time or transpiler; the page shows V8's.
  if (code.startsWith("using") && runtime !== "deno") continue;
  test(`mistakes: ${code}`, async () => {
    try {
      await mistakes[code]!();
    } catch (error) {
      assert.ok(isShown(shown, error), `${error}`);
      return;
    }
    assert.fail("no error");
  });
}
