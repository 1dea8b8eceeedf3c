/** A program that runs out of work while calls wait, in the way that its argument names. */
import process from "node:process";
import { Event, Lock } from "../../mod.ts";
import { watchdog } from "../../lib/diagnostics/mod.ts";

const watching = watchdog({ report: (message, { kind }) => console.log(`${kind}: ${message}`) });
const lock = new Lock({ name: "orders" });

const ways: Record<string, () => unknown> = {
  async "forgotten release"() {
    await lock.acquire();
    await lock.acquire();
  },
  "acquired twice": () => lock.run(() => lock.run(() => {})),
  "many waiters": () => Array.from({ length: 50 }, () => lock.acquire()),
  "event": () => new Event({ name: "ready" }).wait(),
  "held": () => lock.acquire(),
  "disposed of"() {
    void lock.acquire();
    void lock.acquire();
    watching[Symbol.dispose]();
  },
  async "again"() {
    process.once("beforeExit", () => setTimeout(() => {}, 1)); // it is emitted once more then
    await lock.acquire();
    await lock.acquire();
  },
};
void ways[process.argv[2]!]!();
