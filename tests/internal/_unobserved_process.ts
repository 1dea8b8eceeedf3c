/** A process in which functions of a pool or a task group fail: what it does about that is its argument. */
import process from "node:process";
import { Pool, TaskGroup } from "../../mod.ts";
import "../_short_life.ts";

const pool = new Pool(2, { name: "pages" });
const group = new TaskGroup({ name: "pages" });
const failing = (message = "page not found") => () => Promise.reject(new Error(message));
const fail = (message?: string) => pool.createTask(failing(message));
const pause = () => new Promise((resolve) => setTimeout(resolve, 5));

/** Returns the results of this many of 1,005 tasks that have failed. */
async function failOften(observed: number): Promise<Promise<unknown>[]> {
  const tasks = [];
  for (let i = 0; i < 1005; i++) tasks.push(await fail());
  await pause();
  return tasks.slice(0, observed).map((task) => task.result);
}

const cases: Record<string, () => Promise<unknown>> = {
  "not observed": () => fail(),
  "caught": async () => {
    process.on("uncaughtException", (error: Error) => console.log(`caught ${error.message}`));
    await fail("one");
    await fail("two");
  },
  "of too many pools": async () => {
    let caught = 0;
    process.on("uncaughtException", () => caught++);
    process.on("exit", () => console.log(caught));
    for (let i = 0; i < 1005; i++) await new Pool(1).createTask(failing());
  },
  "too many": async () => await Promise.allSettled(await failOften(1000)),
  "behind maps": async () => {
    const maps = Array.from({ length: 1000 }, () => pool.map([], () => {}));
    return [maps, await fail()];
  },
  "waits for ever": async () => {
    await fail();
    await pool.createTask(() => new Promise(() => {}));
    await pool.join();
  },
  "left alone in a group": async () => {
    group.run(failing());
    group.run(failing("another one"));
    await Promise.resolve();
  },
  "handled in a group": () => group.run(failing()).catch(() => console.log("handled")),
  "in a scope that waits for ever": () =>
    TaskGroup.scope((group) => (group.run(failing()), new Promise(() => {})), { name: "pages" }),
  "observed": async () => {
    await Promise.allSettled(await failOften(1005));
    await fail();
    await pool.join().catch(() => {});
    group.run(failing());
    await group.join().catch(() => {});
    await TaskGroup.scope((group) => group.run(failing())).catch(() => {});
  },
  "cancelled": async () => {
    group.run((signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))));
    await Promise.resolve();
    group.cancel();
    const controller = new AbortController();
    new TaskGroup({ signal: controller.signal }).run(() => {});
    controller.abort(new Error("outside"));
    await Promise.resolve();
  },
};
cases[process.argv[2]!]!();
