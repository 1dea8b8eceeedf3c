/** A process of the Redis demo: takes its turn again and again, and prints its state. */
import { RedisLock } from "@interlock/interlock/redis";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../shared/redis.ts";

const { backend } = await connect(process.argv[2]);
const lock = new RedisLock(backend, "demo", { ttl: 1000 });
for (;;) {
  console.log("waits");
  await using _ = await lock.acquire();
  console.log("holds");
  await sleep(400);
  await _.release();
  console.log("idle");
  await sleep(50);
}
