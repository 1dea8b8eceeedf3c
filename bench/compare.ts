/**
 * `deno task bench:compare REV [--rounds N] [--only REGEXP]`: another revision and this tree, on Deno.
 *
 * Each figure is of a process of its own, and the two trees take turns: the decisions of a run-time's compiler hold for a
 * whole process, and make two copies of the same code in it differ by a quarter. Figures are CPU time, so a busy machine
 * spoils less. `bench:compare HEAD` shows how far from 1 a ratio is in a tree without changes.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { OURS, quantile, type Situation, time } from "./_situation.ts";
import { measured } from "./_processes.ts";

const USAGE = "usage: deno task bench:compare REV [--rounds N] [--only REGEXP]";
const root = fileURLToPath(new URL("..", import.meta.url));

function git(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync("git", ["-C", root, ...args], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr.trim().split("\n").at(-1));
  return stdout.trim();
}

async function compare(revision: string, rounds: number, only: RegExp | undefined): Promise<void> {
  const commit = git("rev-parse", "--verify", "--short", `${revision}^{commit}`);
  const folder = mkdtempSync(join(tmpdir(), "interlock-compare-"));
  const there = join(folder, "tree");
  git("worktree", "add", "--detach", there, commit);
  try {
    symlinkSync(join(root, "node_modules"), join(there, "node_modules"));
    const here = join(folder, "here"); // another address, so that neither shares its code with the benchmark itself
    symlinkSync(root, here);
    console.log(`${rounds} pairs of processes; more than 1: quicker than ${commit}\n`);
    for (const file of subjects()) {
      const { situations } = await import(`./${file}_bench.ts`) as { situations: readonly Situation[] };
      for (const { name } of situations.filter(({ name, main }) => only === undefined ? main : only.test(name))) {
        const once = async (tree: string) =>
          (await measured("deno", { file, situation: name, contender: OURS, tree: pathToFileURL(tree).href })).cpu;
        console.log(await row(rounds, () => once(there), () => once(here)).catch(() => "  not there  ") + name);
      }
    }
  } finally {
    git("worktree", "remove", "--force", there);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** "lock" for lock_bench.ts. */
function subjects(): string[] {
  return readdirSync(new URL(".", import.meta.url)).flatMap((file) => /^(\w+)_bench\.ts$/.exec(file)?.[1] ?? []).sort();
}

/** In the order there, here, here, there, so that a machine that becomes slower favours neither. */
async function row(pairs: number, there: () => Promise<number>, here: () => Promise<number>): Promise<string> {
  const [before, after]: [number[], number[]] = [[], []];
  for (let i = 0; i < pairs; i++) {
    if (i % 2 === 0) before.push(await there());
    after.push(await here());
    if (i % 2 === 1) before.push(await there());
  }
  const ratios = before.map((figure, i) => figure / after[i]!);
  const figures = `${time(quantile(before, 0.5))} → ${time(quantile(after, 0.5))}`;
  const ratio = quantile(ratios, 0.5).toFixed(2).padStart(6);
  return `${ratio} ±${standardError(ratios).toFixed(2)}  ${figures.padEnd(22)} `;
}

/** Of a median, from the quartiles: 1.25 times that of a mean, for figures as a bell curve has them. */
function standardError(figures: readonly number[]): number {
  const deviation = (quantile(figures, 0.75) - quantile(figures, 0.25)) / 1.35;
  return 1.25 * deviation / Math.sqrt(figures.length);
}

try {
  const text = { type: "string" } as const;
  const { values: { rounds = "15", only }, positionals: [revision] } = parseArgs({
    options: { rounds: text, only: text },
    allowPositionals: true,
  });
  if (revision === undefined) throw new RangeError("a revision is needed, such as main or v1.0.0");
  await compare(revision, Number(rounds), only === undefined ? undefined : new RegExp(only));
} catch (error) {
  console.error(`Cannot compare: ${(error as Error).message}\n${USAGE}`);
  process.exitCode = 2;
}
