/**
 * A scheduler acquires a lease, so that only one job of its kind runs. A worker in another process adopts the lease,
 * and releases it when the job is done.
 */
import { RedisLock } from "@interlock/interlock/redis";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { startScript } from "./shared/processes.ts";
import { connect, start } from "./shared/redis.ts";

/** The worker: adopts the lease by its id, which came with the job. */
async function worker(url: string, id: string): Promise<void> {
  const { backend, close } = await connect(url);
  const lease = await new RedisLock(backend, "report").adopt(id);
  if (lease === undefined) return console.log("too late"); // the scheduler has crashed, and its lease has ended
  console.log(`works with token ${lease.fencingToken}`); // send it along with each write, and stop at lease.signal
  await lease.release();
  close();
}

function startWorker(url: string, id: string): Promise<string> {
  return new Promise((resolve) => {
    const lines: string[] = [];
    const child = startScript(fileURLToPath(import.meta.url), ["worker", url, id], (line) => lines.push(line));
    child.once("close", () => resolve(lines.join()));
  });
}

export async function main(print: (line: string) => void = console.log, url = process.env.REDIS_URL) {
  const { backend, close } = await connect(url);
  // Not renewed: it ends by itself if no worker adopts it.
  const lock = new RedisLock(backend, "report", { renew: false });
  const lease = await lock.acquire();
  const printed = await startWorker(url!, lease.id);
  print(`the worker has the scheduler's token: ${printed === `works with token ${lease.fencingToken}`}`);
  print(`the scheduler still holds: ${await lease.release()}`);
  print(`the next job can start: ${(await lock.inspect()).holders.length === 0}`);
  close();
}

if (process.argv[2] === "worker") await worker(process.argv[3]!, process.argv[4]!);
else if (import.meta.main) await start(main);
