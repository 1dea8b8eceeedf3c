/**
 * A process that its shutdown leaves something open in: `stays_alive.ts`. With `closes` it leaves nothing. With `both` it has
 * a second shutdown that ends as well, with `serves` one that does not; then it exits after 6 s.
 */
import process from "node:process";
import { GracefulShutdown } from "../../mod.ts";

const shutdown = new GracefulShutdown();
const interval = setInterval(() => {}, 1_000_000); // such as the one of a client that nobody has closed
shutdown.defer(() => {
  if (process.argv[2] === "closes") clearInterval(interval);
});
if (process.argv[2] === "both" || process.argv[2] === "serves") {
  const second = new GracefulShutdown({ signals: [] });
  second.defer(() => {});
  if (process.argv[2] === "both") second.request();
  setTimeout(() => process.exit(0), 6_000);
}
shutdown.request();
const { ok } = await shutdown.finished;
console.log(`finished ${ok}`);
