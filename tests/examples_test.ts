/** Every example runs and prints its point. An example without an entry here fails. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "./_test.ts";

/** The output of each example; those with a test of their own name it. */
const expected: Record<string, string[] | { testedBy: string }> = {
  one_queue_per_user: [
    "one lock for all: 1 order at a time",
    "a dictionary of locks: 2 at a time, 1 of each user, 2 locks left",
    "one queue per user: 2 at a time, 1 of each user, 0 entries left",
  ],
  orders: ["Express: 200, 200, 200, 503 in 1", "Hono: 200, 200, 200, 503 in 1", "entries left: 0"],
  orders_redis: ["refused: LeaseLostError", "the order: from the other machine"],
  lock: ["without a lock: 10 of 20 read back what they wrote", "with a lock: 20 of 20 read back what they wrote"],
  smallest_lock: { testedBy: "long/redis_examples_test.ts" },
  swap_by_one_line: { testedBy: "long/redis_examples_test.ts" },
  timeout_lock: ["Promise.race against a timer: stuck forever? true", "TimeoutLock: stuck forever? false"],
  crawl_rate: { testedBy: "long/redis_examples_test.ts" },
  crawl_roles: { testedBy: "long/redis_examples_test.ts" },
  llm_gateway: { testedBy: "long/redis_examples_test.ts" },
  cron_once: { testedBy: "long/redis_examples_test.ts" },
  hand_over: { testedBy: "long/redis_examples_test.ts" },
  one_leader: { testedBy: "long/redis_examples_test.ts" },
  event: [
    "three that poll asked more than three times: true",
    "three that wait for an event were woken 3 times in all",
  ],
  set_event: [
    "no connection yet: 0 left, at once",
    "three short ones: 0 left",
    "one that takes too long: 1 left after the grace time",
  ],
  condition: [
    "an array: a consumer that comes too early misses 20 of 20",
    "a buffer: nothing missed, in order: true, never more than 3 inside: true",
  ],
  queue: [
    "unbounded: more than 30 items in memory: true, all got: true",
    "bounded: 4 items in memory, all got: true",
  ],
  task_group: [
    "Promise.all: no prices, the others run on",
    "2 finished for nothing",
    "TaskGroup: no prices, 0 finished for nothing",
  ],
  single_flight: ["each for itself: 50 queries", "with SingleFlight: 1 query"],
  per_user_limits: [
    "8 requests of one user: 5 served, then 429, Retry-After: 60",
    "one of another user: 200, at most 3 at a time",
    "three more users, with 8 requests a minute for all: 200; 200; 429, Retry-After: 60",
    "entries left: 0 held, 4 with starts in the last minute",
  ],
  llm_budget: [
    "after an estimate of 400 for 50: 49 requests and 950 tokens left",
    "after an estimate of 100 for 410: 540 tokens left",
    "a call of 900 tokens has to wait: true",
  ],
  honest_headers: [
    '200, RateLimit: "user";r=2;t=60',
    '200, RateLimit: "user";r=1;t=60',
    '200, RateLimit: "user";r=0;t=60',
    '429, RateLimit: "user";r=0;t=60, Retry-After: 60',
  ],
  crawler: [
    "39 pages, 4 retries, failed: https://a.example/7",
    "refused: true, at most as many requests on their way: true",
    "stopped: true, after some pages",
  ],
  semaphore: ["without a limit: 9 requests at once", "with a semaphore: 3 requests at once"],
  barrier: ["without a barrier a worker began too early: true", "with a barrier: 0 times"],
  pool: [
    "at most 3 fetches at once, never more than a few URLs ahead: true",
    "an unobserved failure: page not found",
  ],
  rw_lock: [
    "without a lock: 3 of 6 readers saw a table that was half changed",
    "with an RwLock: 0 of 6, and 3 read at once",
  ],
  busy_server: [
    "growing: 200 of 200 served, however late",
    "bounded: some served: true, the others told to come back: true",
  ],
  graceful_server: { testedBy: "long/shutdown_load_test.ts" },
  graceful_server_bun: { testedBy: "long/shutdown_load_test.ts" },
  jobs_from_a_table: { testedBy: "shutdown/jobs_from_a_table_test.ts" },
  graceful_server_node: { testedBy: "long/shutdown_load_test.ts" },
  lock_on_arguments: [
    "without lockOnArguments: 80 left on card 1, 95 on card 2",
    "with lockOnArguments: 70 left on card 1, 95 on card 2",
  ],
  lock_on_arguments_method: [
    "unguarded: 80 left on card 1, 95 on card 2",
    "withdraw: 70 left on card 1, 95 on card 2",
  ],
  transfer: [
    "without a lock: ada 110, bob 90, together 200",
    "one lock after the other: deadlock",
    "acquireAll: ada 80, bob 120, together 200",
  ],
  withdraw_once: { testedBy: "long/redis_examples_test.ts" },
};

const folder = new URL("../examples/", import.meta.url);

test("examples: every file is run by a test", () => {
  const files = readdirSync(folder).filter((name) => name.endsWith(".ts")).map((name) => name.replace(/\.ts$/, ""));
  assert.deepEqual(files.sort(), Object.keys(expected).sort());
});

test("examples: docs/examples.md names every file", () => {
  const page = readFileSync(new URL("../docs/examples.md", import.meta.url), "utf8");
  assert.deepEqual(Object.keys(expected).filter((name) => !page.includes(`${name}.ts\``)), []);
});

for (const [name, lines] of Object.entries(expected)) {
  if (!Array.isArray(lines)) continue;
  test(`examples: ${name} prints what it shows`, async () => {
    const { main } = await import(new URL(`${name}.ts`, folder).href);
    const printed: string[] = [];
    // On a busy machine, a second of the minute may be over.
    await main((line: string) => printed.push(line.replace(/(?<=Retry-After: |t=)5\d/, "60")));
    assert.deepEqual(printed, lines);
  });
}
