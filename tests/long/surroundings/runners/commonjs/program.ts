/** Runs in ts-node and tsx, as a CommonJS module. */
import { Lock } from "@interlock/interlock";
import { memoryBackend, RedisLock } from "@interlock/interlock/redis";

const lock = new Lock({ name: "orders" });
void new RedisLock(memoryBackend(), "orders").run(() => lock.run(() => console.log("1 passed")));
