/** Everything about the code that can be known without running it. Goes through all checks, then shows the first cause of each that failed. */
import { readdirSync } from "node:fs";
import process from "node:process";
import { entries } from "./_entries.ts";
import { firstCause } from "./_reports.ts";
import { run } from "./_run.ts";

const LEFT_OUT: readonly RegExp[] = [
  // These import packages from JSR, which cannot be reached everywhere: `deno test -A tests/jsr` checks them.
  /^(tests\/jsr|examples\/deno)\//,
  // Installed by the long tests, in folders of their own.
  /\/node_modules\//,
  // These import packages that only the long tests install, see tests/long/frameworks/package.json and that of
  // tests/long/surroundings: once they are there, their types of Node would replace ours.
  /^examples\/frameworks\/(nest|apollo|trpc|hapi|feathers|elysia|srvx|h3|grpc|next|sveltekit)\.ts$/,
  /^tests\/long\/surroundings\/runners\/libraries\.spec\.ts$/,
];

const sources = ["lib", "tests", "bench", "examples", "scripts", "docs"].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => `${folder}/${file.replaceAll("\\", "/")}`)
    .filter((file) => file.endsWith(".ts") && !LEFT_OUT.some((one) => one.test(file)))
);

const checks = [
  ["fmt", "--check"],
  ["lint"],
  ["check", "mod.ts", ...sources],
  ["doc", "--lint", ...entries.map(([, file]) => file)],
  ["publish", "--dry-run", "--allow-dirty"],
];

const failed: string[] = [];
for (const args of checks) {
  const command = `deno ${args.slice(0, 4).join(" ")}`;
  console.log(`\n== ${command}`);
  const { status, output } = await run([Deno.execPath(), ...args]);
  if (status !== 0) failed.push(`FAILED: ${command}\n${firstCause(output)}`);
}
for (const one of failed) console.error(one);
process.exit(failed.length === 0 ? 0 : 1);
