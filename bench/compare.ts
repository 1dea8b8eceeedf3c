/**
 * `deno task bench:compare REV [--rounds N] [--only REGEXP]`: the main rows of another revision and of this tree, on Deno.
 *
 * Each figure is of a process of its own, and the two take turns: the decisions of a run-time's compiler hold for a whole
 * process, and make two copies of the same code in it differ by a quarter. The ratio is the median of those of the pairs.
 * `bench:compare HEAD` shows how far from 1 it is in a tree without changes.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { figure } from "./_markdown.ts";
import { measured } from "./_run_times.ts";
import { quantile } from "./_runner.ts";
import { situations } from "./situations.ts";
import type { Situation } from "./_situation.ts";

const USAGE = "usage: deno task bench:compare REV [--rounds N] [--only REGEXP]";
const root = fileURLToPath(new URL("..", import.meta.url));

interface Ask {
  readonly rounds: number;
  /** For the situations' names. */
  readonly only: RegExp;
}

function git(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync("git", ["-C", root, ...args], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr.trim().split("\n").at(-1));
  return stdout.trim();
}

async function compare(revision: string, { rounds, only }: Ask): Promise<void> {
  const commit = git("rev-parse", "--verify", "--short", `${revision}^{commit}`);
  const folder = mkdtempSync(join(tmpdir(), "interlock-compare-"));
  const tree = join(folder, "tree");
  git("worktree", "add", "--detach", tree, commit);
  try {
    symlinkSync(join(root, "node_modules"), join(tree, "node_modules"));
    const here = join(folder, "here"); // another address, so that neither shares its code with the benchmark itself
    symlinkSync(root, here);
    console.log(`${rounds} pairs of processes; more than 1: quicker than ${commit}\n`);
    for (const situation of situations.filter(({ main, name }) => main && only.test(name))) {
      for (const contender of Object.keys(situation.ours)) {
        const once = (tree: string) => figureOf(situation, contender, tree);
        console.log(row(await pairs(rounds, () => once(tree), () => once(here)), situation, contender));
      }
    }
  } finally {
    git("worktree", "remove", "--force", tree);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function figureOf({ name, unit }: Situation, contender: string, tree: string): Promise<number> {
  const module = pathToFileURL(join(tree, "mod.ts")).href;
  const order = { suite: "local", only: "", ...ROUNDS, alone: { situation: name, contender }, module } as const;
  const [row] = await measured("deno", order);
  if (row === undefined) throw new Error(`no figure in ${unit} of ${name}: ${contender}`);
  return row.median;
}

/** Of a process. The first ones pass until the run-time has compiled its best; the median of the others counts. */
const ROUNDS = { warmUp: 8, rounds: 7 } as const;

interface Pair {
  readonly before: number;
  readonly after: number;
}

/** In the order there, here, here, there, so that a machine that becomes slower favours neither. */
async function pairs(count: number, there: () => Promise<number>, here: () => Promise<number>): Promise<Pair[]> {
  const pairs: Pair[] = [];
  for (let index = 0; index < count; index++) {
    const first = await (index % 2 === 0 ? there : here)();
    const second = await (index % 2 === 0 ? here : there)();
    pairs.push(index % 2 === 0 ? { before: first, after: second } : { before: second, after: first });
  }
  return pairs;
}

function row(pairs: readonly Pair[], { name, unit }: Situation, contender: string): string {
  const ratios = pairs.map(({ before, after }) => before / after);
  const [before, after] = [pairs.map(({ before }) => before), pairs.map(({ after }) => after)];
  const figures = `${figure(quantile(before, 0.5))} → ${figure(quantile(after, 0.5))} ${unit}`;
  const ratio = quantile(ratios, 0.5).toFixed(2).padStart(6);
  return `${ratio} ±${standardError(ratios).toFixed(2)}  ${figures.padEnd(24)} ${name}: ${contender}`;
}

/** Of a median, from the quartiles: 1.25 times that of a mean, for figures as a bell curve has them. */
function standardError(figures: readonly number[]): number {
  const deviation = (quantile(figures, 0.75) - quantile(figures, 0.25)) / 1.35;
  return 1.25 * deviation / Math.sqrt(figures.length);
}

try {
  const text = (value: string) => ({ type: "string", default: value } as const);
  const options = { rounds: text("21"), only: text("") };
  const { values, positionals } = parseArgs({ args: process.argv.slice(2), options, allowPositionals: true });
  const [revision, ...more] = positionals;
  if (revision === undefined || more.length > 0) throw new RangeError("one revision is needed, such as main or v1.0.0");
  if (!/^[1-9]\d*$/.test(values.rounds)) {
    throw new RangeError(`--rounds must be a whole number of 1 or more, got "${values.rounds}"`);
  }
  await compare(revision, { rounds: Number(values.rounds), only: new RegExp(values.only) });
} catch (error) {
  console.error(`Cannot compare: ${(error as Error).message}\n${USAGE}`);
  process.exitCode = 2;
}
