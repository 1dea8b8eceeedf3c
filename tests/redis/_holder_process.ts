/** A process that takes the lock "a" of the server given to it, and keeps it. */
import process from "node:process";
import { RedisLock } from "../../lib/redis/mod.ts";
import { connectNode } from "./_clients.ts";

const { backend } = await connectNode(process.argv[2]!);
const lease = await new RedisLock(backend, "a", { ttl: 3000 }).acquire();
setInterval(() => lease.held, 1000);
