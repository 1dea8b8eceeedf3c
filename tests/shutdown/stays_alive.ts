/**
 * A process that its shutdown leaves something open in: `stays_alive.ts`. With `closes` it leaves nothing. With `both` it has
 * a second shutdown that ends as well, with `serves` one that does not; then it exits 6 s after its end.
 */
import process from "node:process";
import { GracefulShutdown } from "../../mod.ts";

const shutdown = new GracefulShutdown();
const interval = setInterval(() => {}, 1_000_000); // such as the one of a client that nobody has closed
shutdown.defer(() => {
  if (process.argv[2] === "closes") clearInterval(interval);
});
const hasTwo = process.argv[2] === "both" || process.argv[2] === "serves";
const second = hasTwo ? new GracefulShutdown({ signals: [] }) : undefined;
second?.defer(() => {});
if (process.argv[2] === "both") second!.request();
shutdown.request();
const { ok } = await shutdown.finished;
if (hasTwo) setTimeout(() => process.exit(0), 6_000);
console.log(`finished ${ok}`);
