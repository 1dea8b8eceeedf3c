/** Four processes that start as much as a rate limit allows; three of them are killed, and replaced. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { redisTest, until } from "../redis/_clients.ts";

const WORKER = fileURLToPath(new URL("./_starter_process.ts", import.meta.url));

interface Budget {
  readonly limit: number;
  readonly interval: number;
  readonly kind?: "window" | "bucket";
}

/** What each call takes, and the budgets. */
const limits: Record<string, readonly [permits: number[], budgets: readonly Budget[]]> = {
  "a window": [[1], [{ limit: 25, interval: 500 }]],
  "a bucket": [[1], [{ limit: 25, interval: 500, kind: "bucket" }]],
  "two budgets": [[1, 3], [{ limit: 25, interval: 500 }, { limit: 120, interval: 1000, kind: "bucket" }]],
};

/** @param turns In µs, in order. */
function assertBound(turns: readonly number[], permits: number, { limit, interval, kind }: Budget): void {
  const [most, span] = [Math.floor(limit / permits), interval * 1000];
  let missing = 0;
  for (const [i, turn] of turns.entries()) {
    if (kind === "bucket") {
      missing = Math.max(0, missing - (turn - (turns[i - 1] ?? 0)) * limit / span) + permits;
      assert.ok(missing <= limit + 1e-6, `${missing} of ${limit} permits at start ${i}`);
    } else if (i >= most) {
      const apart = turn - turns[i - most]!;
      assert.ok(apart >= span, `${most + 1} starts within ${apart} µs`);
    }
  }
}

for (const [name, [permits, budgets]] of Object.entries(limits)) {
  redisTest(`rate limit of four processes, with kills: ${name}`, async ({ server }) => {
    const turns: number[] = [];
    const workers: { readonly child: ChildProcess; starts: number }[] = [];
    let [longest, complaint] = [0, ""];
    const begin = () => {
      const flags = "Deno" in globalThis ? ["run", "--quiet", "-A", "--no-check"] : process.execArgv;
      const args = [...flags, WORKER, server.url, JSON.stringify(budgets), JSON.stringify(permits)];
      const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
      const worker = { child, starts: 0 };
      workers.push(worker);
      createInterface({ input: child.stdout! }).on("line", (line) => {
        const [turn = "", waited, ...order] = line.split(" ");
        turns.push(Number(turn));
        longest = Math.max(longest, Number(waited));
        worker.starts++;
        if (order.join(" ") !== "in order") complaint = line;
      });
    };
    for (let i = 0; i < 4; i++) begin();
    await until(() => workers.every(({ starts }) => starts > 20), 60_000);
    for (const { child } of workers.slice(0, 3)) {
      child.kill("SIGKILL");
      begin();
      await until(() => workers.slice(-1).every(({ starts }) => starts > 20), 60_000);
    }
    const living = workers.slice(3);
    const counts = living.map(({ starts }) => starts);
    await until(() => living.every(({ starts }, i) => starts > counts[i]! + 30), 60_000);
    for (const { child } of living) child.stdin!.end();
    await until(() => living.every(({ child }) => child.exitCode !== null), 30_000);
    assert.equal(complaint, "", "a process's calls start in their order");
    turns.sort((a, b) => a - b);
    assert.equal(new Set(turns).size, turns.length, "no turn is given twice");
    for (const [i, budget] of budgets.entries()) assertBound(turns, permits[i]!, budget);
    assert.ok(longest < 10_000, `a call waited ${longest} ms`); // 40 calls wait for 40 to 50 a second
    await until(async () => await server.send("DBSIZE") === 0);
  }, { timeout: 240_000 });
}
