/** The examples for Deno users print what they show, with the real packages of JSR. */
import { assertEquals } from "@std/assert";
import { main as redisLock } from "../../examples/deno/redis_lock.ts";
import { main as stdAsync } from "../../examples/deno/std_async.ts";
import { Server } from "../redis/_server.ts";
import { test } from "../_test.ts";

test("examples: deno/redis_lock", async () => {
  await using server = await Server.start();
  const printed: string[] = [];
  await redisLock((line) => printed.push(line), `redis://127.0.0.1:${server.port}`); // as the default user
  assertEquals(printed, [
    "one lock for all: 7 left after 3 of 10 were taken",
    "one queue for each article: 7 apples, 8 pears left",
    "a lease with a fencing token: true",
  ]);
});

test("examples: deno/std_async", async () => {
  const printed: string[] = [];
  await stdAsync((line) => printed.push(line));
  assertEquals(printed, [
    "retry around a lock: done after 3 attempts",
    "deadline around acquire: TimeoutError, 1 still in the queue",
    "timeout of acquire: TimeoutError, 0 in the queue",
    "pooledMap: 2,4,6",
    "Pool.map: 2,4,6",
  ]);
});
