/** Runs the bundled Worker in the real workerd, and prints what its requests answer as JSON. */
import { readFileSync } from "node:fs";
import { Miniflare } from "miniflare";

const workers = new Miniflare({
  modules: true,
  script: readFileSync(process.argv[2], "utf8"),
  compatibilityDate: "2026-01-01",
  durableObjects: { COUNTER: "Counter" },
});

const get = async (path) => await (await workers.dispatchFetch(`http://worker${path}`)).json();
const results = {};
for (
  const path of ["/lock", "/semaphore", "/keyed", "/writer", "/pool", "/task", "/map", "/rate", "/rated", "/counter"]
) {
  const answers = await Promise.all(Array.from({ length: 8 }, () => get(path)));
  results[path] = { answers, most: await get("/most") };
}
const first = get("/raced");
const waiting = [first, get("/event"), get("/event")];
await first; // the others wait on, though the request that waited before them has ended
results["/event"] = { answers: [await get("/set"), ...await Promise.all(waiting)] };
const conditions = [get("/condition"), get("/condition")];
await new Promise((resolve) => setTimeout(resolve, 50));
results["/condition"] = { answers: await Promise.all([get("/notify"), ...conditions]) };
const hold = get("/hold");
await new Promise((resolve) => setTimeout(resolve, 50));
results.timeouts = { answers: await Promise.all(["/20", "/100", "/100", "/aborted", "/20"].map(get)) };
results.hold = { answers: [await hold, await get("/100")] };
console.log(JSON.stringify(results));
await workers.dispose();
