/** The worker of examples/ as a process, which is ended by SIGTERM and started again. Node 20 has no node:sqlite. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { runtime, test } from "../_test.ts";
import { said, signal, start, type Started } from "./round.ts";
import { self } from "./runtimes.ts";

/** The most jobs that ran at a time, in all and of one tenant; those that began and did not end. */
function concurrency({ output }: Started) {
  const running = new Map<string, string>();
  const most = { all: 0, tenant: 0, unfinished: 0 };
  for (const [, what, id, tenant] of output.text.matchAll(/(begin|end) (\d+) of (\w+)/g)) {
    if (what === "end") running.delete(id!);
    else running.set(id!, tenant!);
    most.all = Math.max(most.all, running.size);
    most.tenant = Math.max(most.tenant, [...running.values()].filter((each) => each === tenant).length);
  }
  return { ...most, unfinished: running.size };
}

if (process.getBuiltinModule("node:sqlite") !== undefined) {
  test(`examples: a worker that is ended finishes the jobs it has begun, and puts back the others, ${runtime}`, async () => {
    const file = join(tmpdir(), `interlock-jobs-${randomUUID()}.db`);
    const args = ["examples/jobs_from_a_table.ts", [file]] as const;
    const first = await start(self, ...args);
    await said(first, /begin 3 of/);
    signal(first, "SIGTERM");
    assert.deepEqual(await first.ended, { code: 0, signal: null });
    const counts = /(\d+) done, (\d+) failed, (\d+) ready, 0 claimed/.exec(first.output.text)!.slice(1).map(Number);
    const [done, failed, ready] = counts as [number, number, number];
    assert.ok(done >= 3 && ready > 0 && done + failed + ready === 20, first.output.text);

    const second = await start(self, ...args);
    assert.deepEqual(await second.ended, { code: 0, signal: null });
    assert.match(second.output.text, /16 done, 4 failed, 0 ready, 0 claimed/);
    for (const each of [first, second]) assert.deepEqual(concurrency(each), { all: 3, tenant: 1, unfinished: 0 });
    rmSync(file);
  });
}
