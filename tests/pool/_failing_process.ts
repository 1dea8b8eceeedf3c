/** A process whose task fails: what it does about that is its argument. */
import process from "node:process";
import { Pool } from "../../mod.ts";
import "../_short_life.ts";

const pool = new Pool(2, { name: "pages" });
const fail = (message: string) => pool.createTask(() => Promise.reject(new Error(message)));
const cases: Record<string, () => Promise<unknown>> = {
  "not observed": () => fail("page not found"),
  "caught": async () => {
    process.on("uncaughtException", (error: Error) => console.log(`caught ${error.message}`));
    await fail("one");
    await fail("two");
  },
  "of too many pools": async () => {
    let caught = 0;
    process.on("uncaughtException", () => caught++);
    process.on("exit", () => console.log(caught));
    for (let i = 0; i < 1005; i++) await new Pool(1).createTask(() => Promise.reject(new Error("page not found")));
  },
  "too many": async () => {
    const tasks = [];
    for (let i = 0; i < 1005; i++) tasks.push(await fail("page not found"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    await Promise.allSettled(tasks.slice(0, 1000).map((task) => task.result));
  },
  "none of too many": async () => {
    const tasks = [];
    for (let i = 0; i < 1005; i++) tasks.push(await fail("page not found"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    await Promise.allSettled(tasks.map((task) => task.result));
  },
  "behind maps": async () => {
    const maps = Array.from({ length: 1000 }, () => pool.map([], () => {}));
    const task = await fail("page not found");
    return [maps, task];
  },
  "joined": async () => {
    await fail("page not found");
    await pool.join().catch(() => {});
  },
  "read": async () => {
    const task = await fail("page not found");
    await new Promise((resolve) => setTimeout(resolve, 5));
    await task.result.catch(() => {});
  },
  "waits for ever": async () => {
    await fail("page not found");
    await pool.createTask(() => new Promise(() => {}));
    await pool.join();
  },
};
cases[process.argv[2]!]!();
