/** A process with a task group whose task fails: what it does about that is its argument. */
import process from "node:process";
import { TaskGroup } from "../mod.ts";
import "./_short_life.ts";

const fail = () => Promise.reject(new Error("page not found"));
const cases: Record<string, () => Promise<unknown>> = {
  "left alone": async () => {
    const group = new TaskGroup({ name: "pages" });
    group.run(fail);
    group.run(() => Promise.reject(new Error("another one")));
    await Promise.resolve();
  },
  "handled": async () => await new TaskGroup().run(fail).catch(() => console.log("handled")),
  "waits for ever": () => TaskGroup.scope((group) => (group.run(fail), new Promise(() => {}))),
  "joined": async () => {
    const group = new TaskGroup();
    group.run(fail);
    await group.join().catch(({ message }) => console.log(message));
  },
  "scope": () => TaskGroup.scope((group) => group.run(fail)).catch(({ message }) => console.log(message)),
  "cancelled": async () => {
    const group = new TaskGroup();
    group.run((signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))));
    await Promise.resolve();
    group.cancel();
  },
  "aborted": async () => {
    const controller = new AbortController();
    new TaskGroup({ signal: controller.signal }).run(() => {});
    controller.abort(new Error("outside"));
    await Promise.resolve();
  },
};
cases[process.argv[2]!]!();
