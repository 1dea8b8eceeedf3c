/** A thread that holds a lock until it is told to give it back, or is terminated. */
import { parentPort, workerData } from "node:worker_threads";
import { WebLock } from "../../lib/web/mod.ts";

const guard = await new WebLock(workerData as string).acquire({ timeout: 10_000 });
parentPort!.once("message", async () => {
  await guard.release();
  parentPort!.postMessage("released");
});
parentPort!.postMessage("held");
