/** Everything about the code that can be known without running it. Goes through all checks, then fails if one did. */
import { spawnSync } from "node:child_process";
import process from "node:process";
import { files } from "./_entries.ts";

const checks = [
  ["fmt", "--check"],
  ["lint"],
  ["check", "."],
  ["doc", "--lint", ...files],
  ["publish", "--dry-run", "--allow-dirty"],
];

const failed = checks.filter((args) => {
  console.log(`\n== deno ${args.join(" ")}`);
  return spawnSync(Deno.execPath(), args, { stdio: ["ignore", "inherit", "inherit"] }).status !== 0;
});
for (const args of failed) console.error(`FAILED: deno ${args.join(" ")}`);
process.exit(failed.length === 0 ? 0 : 1);
