/** The other process: acquires the lock and hangs. */
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, start } from "../shared/redis.ts";
import { report } from "./stuck_holder.ts";

await start(async () => {
  const { backend } = await connect(process.argv[2]);
  await report(backend).run(async () => {
    console.log("holds");
    await sleep(2 ** 31 - 1); // a call that never returns
  });
});
