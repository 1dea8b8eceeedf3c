/** `deno task bench:compare REV [--rounds N]`: the main rows of another revision and of this tree, in the same rounds. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import * as here from "../mod.ts";
import { figure } from "./_markdown.ts";
import { measure } from "./_runner.ts";
import { situations } from "./situations.ts";
import type { Lib } from "./_situation.ts";

const USAGE = "usage: deno task bench:compare REV [--rounds N]";
const root = fileURLToPath(new URL("..", import.meta.url));

function git(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync("git", ["-C", root, ...args], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr.trim().split("\n").at(-1));
  return stdout.trim();
}

async function compare(revision: string, rounds: number): Promise<void> {
  const commit = git("rev-parse", "--verify", "--short", `${revision}^{commit}`);
  const folder = mkdtempSync(join(tmpdir(), "interlock-compare-"));
  git("worktree", "add", "--detach", join(folder, "tree"), commit);
  try {
    symlinkSync(join(root, "node_modules"), join(folder, "tree", "node_modules"));
    const there = await import(pathToFileURL(join(folder, "tree", "mod.ts")).href) as Lib;
    console.log(`${rounds} rounds; more than 1: quicker than ${commit}\n`);
    for (const situation of situations.filter(({ main }) => main)) {
      const only = { ...situation, peers: {}, floors: {} };
      const rows = await measure(only, { rounds, libs: { [commit]: there, here } });
      for (const name of Object.keys(situation.ours)) {
        const [before, after] = [commit, "here"].map((lib) =>
          rows.find((row) => row.contender === `${name} @ ${lib}`)!
        );
        const spread = Math.round(50 * Math.max(before!.spread, after!.spread));
        const ratio = (before!.median / after!.median).toFixed(2);
        const figures = `${figure(before!.median)} → ${figure(after!.median)} ${situation.unit}`;
        console.log(`${ratio.padStart(6)} ±${spread} %  ${figures.padEnd(24)} ${situation.name}: ${name}`);
      }
    }
  } finally {
    git("worktree", "remove", "--force", join(folder, "tree"));
    rmSync(folder, { recursive: true, force: true });
  }
}

try {
  const options = { rounds: { type: "string", default: "11" } } as const;
  const { values, positionals } = parseArgs({ args: process.argv.slice(2), options, allowPositionals: true });
  const [revision, ...more] = positionals;
  if (revision === undefined || more.length > 0) throw new RangeError("one revision is needed, such as main or v1.0.0");
  if (!/^[1-9]\d*$/.test(values.rounds)) {
    throw new RangeError(`--rounds must be a whole number of 1 or more, got "${values.rounds}"`);
  }
  await compare(revision, Number(values.rounds));
} catch (error) {
  console.error(`Cannot compare: ${(error as Error).message}\n${USAGE}`);
  process.exitCode = 2;
}
process.exit();
