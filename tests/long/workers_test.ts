/** Cloudflare Workers: the real workerd, whose timers end with the request that set them. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "../_test.ts";
import { program } from "../shutdown/runtimes.ts";
import { assertInstalled, folder } from "./surroundings/install.ts";

interface Answer {
  readonly ended: string;
  readonly ms: number;
}

type Results = Record<string, { readonly answers: readonly Answer[]; readonly most?: number }>;

async function runWorker(): Promise<Results> {
  assertInstalled();
  const node = await program("node20");
  const out = mkdtempSync(join(tmpdir(), "interlock-worker-"));
  try {
    const outfile = join(out, "worker.mjs");
    const flags = ["--bundle", "--format=esm", "--target=es2022", "--external:node:*", `--outfile=${outfile}`];
    const built = spawnSync("node_modules/.bin/esbuild", [`${folder}worker.ts`, ...flags, "--log-level=error"]);
    assert.equal(built.status, 0, String(built.stderr));
    const { stdout, stderr, status } = spawnSync(node, ["workers.mjs", outfile], { cwd: folder, encoding: "utf8" });
    assert.equal(status, 0, stderr);
    return JSON.parse(stdout.split("\n").findLast((line) => line.startsWith("{"))!);
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

test("Cloudflare Workers: everything that requests share serves all of them, and time-outs end in time", async () => {
  const results = await runWorker();
  const { timeouts, hold, ...shared } = results;
  for (const [path, { answers }] of Object.entries(shared)) {
    assert.deepEqual(answers.map(({ ended }) => ended), answers.map(() => "ok"), path);
  }
  for (const path of ["/lock", "/keyed", "/writer", "/pool", "/task", "/map"]) {
    assert.equal(results[path]!.most, 1, path);
  }
  assert.equal(results["/semaphore"]!.most, 2);
  assert.deepEqual(results["/counter"]!.answers.map(({ ms }) => ms).sort(), [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual(timeouts!.answers.map(({ ended }) => ended), Array(5).fill("TimeoutError"));
  for (const [i, ms] of [20, 100, 100, 80, 20].entries()) {
    const took = timeouts!.answers[i]!.ms;
    assert.ok(took >= ms - 2, `a time-out of ${ms} ms took ${took} ms`);
  }
  assert.deepEqual(hold!.answers.map(({ ended }) => ended), ["ok", "ok"]);
});
