/** Figures of processes that each measure one contender, on every run-time. */
import { spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { program } from "../tests/shutdown/runtimes.ts";
import type { Figure, Order } from "./_child.ts";

export const RUN_TIMES = ["deno", "node", "bun"] as const;
export type RunTime = typeof RUN_TIMES[number];

const CHILD = fileURLToPath(new URL("./_child.ts", import.meta.url));

const OPTIONS: Readonly<Record<RunTime, readonly string[]>> = {
  deno: ["run", "-A", "--no-check", "--v8-flags=--expose-gc"],
  node: ["--expose-gc", "--no-warnings"],
  bun: [],
};

/** "26.10.0". */
export async function versionOf(runTime: RunTime): Promise<string> {
  const { stdout } = spawnSync(await program(runTime), ["--version"], { encoding: "utf8" });
  return /[\d.]+/.exec(stdout)![0];
}

/** One process. */
export async function measured(runTime: RunTime, order: Order): Promise<Figure> {
  const child = spawn(await program(runTime), [...OPTIONS[runTime], CHILD, JSON.stringify(order)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let figure: Figure | undefined;
  createInterface({ input: child.stdout! }).on("line", (line) => figure = JSON.parse(line));
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (figure !== undefined) resolve(figure);
      else reject(new Error(`${runTime}, ${order.situation}, ${order.contender}: no figure, exit code ${code}`));
    });
  });
}
