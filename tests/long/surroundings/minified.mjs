/** Minifies a program and the package by esbuild, which renames the classes, runs it, and prints what it shows. */
import { inspect } from "node:util";
import { build } from "esbuild";

const contents = `
  import { acquireAll, Condition, Lock, Pool, RateLimiter, Semaphore, TimeoutError } from "@interlock/interlock";
  const messageOf = (fn) => { try { fn(); } catch (error) { return error.name + ": " + error.message; } };
  const lock = new Lock({ name: "orders" });
  const guard = lock.tryAcquire();
  export const shown = { lock, guard, semaphore: new Semaphore(2), error: new TimeoutError("late") };
  export const thrown = [
    messageOf(() => new Condition(new Semaphore(1))),
    messageOf(() => new Pool(1, { rate: lock })),
    messageOf(() => new Pool(1, new RateLimiter(1, 1))),
    await acquireAll([new Pool(1)]).catch(({ message }) => message),
  ];
  class Own {}
  export const isRenamed = Own.name !== "Own";`;
const { outputFiles } = await build({
  stdin: { contents, resolveDir: import.meta.dirname },
  ...{ bundle: true, minify: true, format: "esm", target: "es2022", write: false },
});
const code = Buffer.from(outputFiles[0].contents).toString("base64");
const { shown, thrown, isRenamed } = await import(`data:text/javascript;base64,${code}`);
for (const [name, value] of Object.entries(shown)) {
  shown[name] = inspect(value, { breakLength: Infinity }).split("\n")[0];
}
console.log(JSON.stringify({ shown, thrown, isRenamed }));
