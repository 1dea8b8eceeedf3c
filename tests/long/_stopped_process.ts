/**
 * A process that holds leases of 3 s and of 60 s, and waits for a third lock. For each line of its input it prints what
 * it has; at the end of its input it releases everything.
 */
import process from "node:process";
import { type Lease, RedisLock, type RedisOptions } from "../../lib/redis/mod.ts";
import { clients } from "../redis/_clients.ts";

const { backend, close } = await clients[0]!.connect(process.argv[2]!);
const lock = (name: string, options: RedisOptions) => new RedisLock(backend, name, options);
const leases: Record<string, Lease> = {
  short: await lock("short", { ttl: 3000 }).acquire(),
  long: await lock("long", { ttl: 60_000 }).acquire(),
  unrenewed: await lock("unrenewed", { ttl: 60_000, renew: false }).acquire(),
};
const waiting = lock("waiting", { ttl: 60_000 }).acquire().then((lease) => {
  leases["waiting"] = lease;
  console.log("granted");
});
process.stdin.on("data", () => {
  const lost = Object.keys(leases).filter((name) => !leases[name]!.held || leases[name]!.signal.aborted);
  console.log(`lost: ${lost}.`);
});
process.stdin.on("end", async () => {
  await waiting;
  const released: string[] = [];
  for (const [name, lease] of Object.entries(leases)) if (await lease.release()) released.push(name);
  console.log(`released: ${released}.`);
  await close();
});
console.log("ready");
