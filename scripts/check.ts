/** Everything about the code that can be known without running it. Goes through all checks, then fails if one did. */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import process from "node:process";
import { files } from "./_entries.ts";

/** These import packages from JSR, which cannot be reached everywhere: `deno test -A tests/jsr` checks them. */
const FROM_JSR = /^(tests\/jsr|examples\/deno)\//;

/** Installed by the long tests, in folders of their own. */
const OF_OTHERS = /\/node_modules\//;

/**
 * These import packages that only the long tests install, see tests/long/frameworks/package.json and that of
 * tests/long/surroundings: once they are there, their types of Node would replace ours.
 */
const OF_LONG_TESTS =
  /^(examples\/frameworks\/(nest|apollo|trpc|hapi|feathers|elysia|srvx|h3|grpc|next|sveltekit)|tests\/long\/surroundings\/runners\/libraries\.spec)\.ts$/;

const sources = ["lib", "tests", "bench", "examples", "scripts", "docs"].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => `${folder}/${file.replaceAll("\\", "/")}`)
    .filter((file) => file.endsWith(".ts") && ![FROM_JSR, OF_OTHERS, OF_LONG_TESTS].some((one) => one.test(file)))
);

const checks = [
  ["fmt", "--check"],
  ["lint"],
  ["check", "mod.ts", ...sources],
  ["doc", "--lint", ...files],
  ["publish", "--dry-run", "--allow-dirty"],
];

const failed = checks.filter((args) => {
  console.log(`\n== deno ${args.slice(0, 4).join(" ")}`);
  return spawnSync(Deno.execPath(), args, { stdio: ["ignore", "inherit", "inherit"] }).status !== 0;
});
for (const args of failed) console.error(`FAILED: deno ${args.slice(0, 4).join(" ")}`);
process.exit(failed.length === 0 ? 0 : 1);
