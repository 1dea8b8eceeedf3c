/**
 * A process of the tests. `idle`: makes a GracefulShutdown and has nothing else to do. `deaf`: goes on after the shutdown.
 * `stuck`: tracks a promise that never settles. `slow FILE`: is about to exit until that file exists.
 */
import { existsSync, writeSync } from "node:fs";
import process from "node:process";
import { GracefulShutdown } from "../../mod.ts";

const [mode = "", file = ""] = process.argv.slice(2);
const shutdown = new GracefulShutdown({
  grace: mode === "stuck" ? 300 : 10_000,
  debounce: mode === "slow" ? 60_000 : 250,
});
if (mode === "deaf") {
  setInterval(() => {}, 1000);
  shutdown.forced.addEventListener("abort", () => console.log("forced"));
}
if (mode === "slow") {
  setInterval(() => {}, 1000);
  shutdown.finished.then(() => {
    process.on("exit", () => {
      writeSync(1, "exiting\n");
      while (!existsSync(file)); // a signal arrives meanwhile
    });
    process.exit(0);
  });
} else if (mode !== "idle") {
  shutdown.track(new Promise(() => {}), "the endless one");
  shutdown.signal.addEventListener("abort", () => console.log("asked"));
  shutdown.finished.then(({ remaining }) => console.log(`finished without ${remaining}`));
}
if (mode === "stuck") shutdown.request();
console.log("ready");
