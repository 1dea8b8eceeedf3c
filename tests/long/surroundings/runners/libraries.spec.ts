/** The table of libraries in Jest and in Vitest's vmThreads, whose errors and signals are of another realm. */
import { Pool } from "@interlock/interlock";
import { cancelAll } from "../libraries.js";

// deno-lint-ignore no-explicit-any -- the globals of both runners
declare const test: any, expect: any;

test("a cancelled call of a library inside of a pool is no failure", async () => {
  const result = await cancelAll(Pool);
  console.log(JSON.stringify(result)); // the test that starts the runner reads it
  expect(result.failures).toEqual([]);
}, 60_000);
