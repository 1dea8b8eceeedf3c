/** `deno task ok`: what has to pass before a change goes in. The tests run all the same if a check fails. */
import process from "node:process";
import { run } from "./_run.ts";

const check = await run(Deno.execPath(), ["task", "check"]);
const test = await run(Deno.execPath(), ["task", "test"]);
console.log(`\ncheck ${check.status === 0 ? "passed" : "FAILED"}, test ${test.status === 0 ? "passed" : "FAILED"}`);
const [causes] = /^FAILED: deno[^]*/m.exec(check.output) ?? [];
if (causes !== undefined) console.log(causes);
process.exit(check.status || test.status);
