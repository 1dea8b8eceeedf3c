/** A process that its shutdown leaves something open in: `stays_alive.ts [closes]`. */
import process from "node:process";
import { GracefulShutdown } from "../../mod.ts";

const shutdown = new GracefulShutdown();
const interval = setInterval(() => {}, 1_000_000); // such as the one of a client that nobody has closed
shutdown.defer(() => {
  if (process.argv[2] === "closes") clearInterval(interval);
});
shutdown.request();
const { ok } = await shutdown.finished;
console.log(`finished ${ok}`);
