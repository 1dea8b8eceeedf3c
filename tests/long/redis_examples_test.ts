/** The examples that need Redis, and the demo, with a real server. */
import assert from "node:assert/strict";
import { runProgram } from "../_program.ts";
import { PASSWORD } from "../_secrets.ts";
import { test } from "../_test.ts";
import { Server } from "../redis/_server.ts";

const expected: Record<string, string[]> = {
  swap_by_one_line: ["across processes: sold 10 of 10"],
  withdraw_once: ["without a lock: 3 times", "with lockOnArguments: 1 time"],
  smallest_lock: [
    "first one gets it: true, second one: false",
    "another caller releases it: false, the holder does: true",
    "after a crash it is free again by itself: true",
  ],
  hand_over: [
    "the worker has the scheduler's token: true",
    "the scheduler still holds: false",
    "the next job can start: true",
  ],
  one_leader: ["the leader was killed, and the other one leads: true"],
  cron_once: ["3 machines, 1 run, 1 machine that ran it", "a minute later it runs again: true"],
  crawl_rate: ["3 crawlers, 30 pages", "no quicker than the limit: true"],
  llm_gateway: [
    "two processes, 8 requests, 6 answers",
    "429 with a Retry-After of up to a minute: true",
    "6 answers took 50 tokens each, not 100: true",
  ],
  crawl_roles: [
    "roles: lists details details details comments comments",
    "one on details was killed, and a new one took its place: true",
  ],
};

const run = (file: string, env: Record<string, string> = {}) =>
  runProgram(new URL(`../../examples/${file}`, import.meta.url), [], {
    env: { REDIS_URL: "", NO_COLOR: "1", ...env },
  });

for (const [name, lines] of Object.entries(expected)) {
  test(`example: ${name} prints what it shows`, async () => {
    await using server = await Server.start();
    const { main } = await import(new URL(`../../examples/${name}.ts`, import.meta.url).href);
    const printed: string[] = [];
    await main((line: string) => printed.push(line), server.url);
    assert.deepEqual(printed, lines);
  });
}

test("example: swap_by_one_line without Redis runs in one process", async () => {
  const { main } = await import(new URL("../../examples/swap_by_one_line.ts", import.meta.url).href);
  const printed: string[] = [];
  await main((line: string) => printed.push(line), "");
  assert.deepEqual(printed, ["in one process: sold 10 of 10"]);
});

// Only in run-times that report the main module; Node does from 24.2 on.
if (import.meta.main !== undefined) {
  test("example: without a Redis it prints one line", async () => {
    const urls: [url: string, printed: RegExp][] = [
      ["", /^Cannot connect to Redis: set REDIS_URL.*\n$/],
      ["redis://127.0.0.1:1", /^Cannot connect to Redis at .*\n$/],
    ];
    for (const [url, text] of urls) {
      const { code, err } = await run("withdraw_once.ts", { REDIS_URL: url });
      assert.match(err, text);
      assert.equal(code, 1);
    }
  });
}

test("demo:redis hands over after the holder was killed", async () => {
  const { code, out, err } = await run("demo/redis.ts");
  assert.equal(code, 0, err);
  assert.match(out, /process \d +killed/);
  assert.match(out, /The holder was killed; \d+ ms later the next one held/);
  assert.equal(out.includes("\x1b"), false);
});

test("demo:redis without a server says so, and runs in memory", async () => {
  const { code, out, err } = await run("demo/redis.ts", { REDIS_SERVER: "no-such-redis-server" });
  assert.equal(code, 0, err);
  assert.match(out, /^Cannot start redis-server: .+\n.*memoryBackend\(\), which excludes nothing outside/);
  assert.match(out, /call \d +killed/);
  assert.match(out, /The holder was killed; \d+ ms later the next one held/);
});

test("demo:redis: a server that cannot be reached ends it with its address, not with its password", async () => {
  const { code, err } = await run("demo/redis.ts", { REDIS_URL: `redis://:${PASSWORD}@127.0.0.1:1` });
  assert.equal(code, 1);
  assert.ok(!err.includes(PASSWORD), err);
  assert.match(err, /^Cannot connect to Redis at 127\.0\.0\.1:1: connect ECONNREFUSED 127\.0\.0\.1:1$/m);
});
