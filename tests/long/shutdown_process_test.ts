/** Real processes and real signals. Started by Deno it is done for all three run-times; by another one for itself. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runtime, test } from "../_test.ts";
import { said, signal, start, startServer } from "../shutdown/round.ts";
import { nextTurn, until } from "../_tools.ts";
import type { ProgramName, RuntimeName } from "../shutdown/runtimes.ts";

const RUNTIMES: RuntimeName[] = ["deno", "node", "bun"];
const KIND = { deno: "fetch", node: "node", bun: "fetch" } as const;
const EXAMPLE = {
  deno: "examples/graceful_server.ts",
  node: "examples/graceful_server_node.ts",
  bun: "examples/graceful_server_bun.ts",
};
/** Half of the grace time, which it would take otherwise; a busy machine may take seconds. */
const AT_ONCE = 30_000;

/** A second signal within 250 ms counts as the first one. */
function debounced(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 300));
}

for (const name of RUNTIMES.filter((name) => runtime === "deno" || name === runtime)) {
  test(`GracefulShutdown: two signals with nothing in flight end it at once, without a word, ${name}`, async () => {
    // It is still there when the second one comes: between the end and the call of process.exit, it would end the process.
    const server = await startServer(name, KIND[name], ["--grace", "60000", "--delay", "200"]);
    signal(server, "SIGTERM");
    signal(server, "SIGINT");
    assert.deepEqual(await server.ended, { code: 0, signal: null });
    const { drained, remaining, reason, elapsed, accepted } = server.report();
    assert.deepEqual([drained, remaining], [true, []]);
    assert.match(reason, /^AbortError: Shutdown requested: SIG(TERM|INT)$/); // the system delivers them in any order
    assert.ok(elapsed < AT_ONCE && accepted.length === 0, `after ${elapsed} ms`);
  });

  test(`GracefulShutdown: a signal that is sent on while the process exits leaves its exit code alone, ${name}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "interlock-bystander-"));
    const file = join(folder, "signalled");
    const slow = await start(name, "tests/shutdown/bystander.ts", ["slow", file]);
    await said(slow, /ready/);
    signal(slow, "SIGTERM");
    await said(slow, /exiting/);
    signal(slow, "SIGINT");
    writeFileSync(file, "");
    assert.deepEqual(await slow.ended, { code: 0, signal: null });
    rmSync(folder, { recursive: true });
  });

  test(`GracefulShutdown: a third signal has the system's effect, ${name}`, async () => {
    const started = await start(name, "tests/shutdown/bystander.ts", ["deaf"]);
    await said(started, /ready/);
    signal(started, "SIGTERM");
    await said(started, /asked/);
    await debounced();
    signal(started, "SIGINT");
    await said(started, /finished without the endless one/);
    signal(started, "SIGTERM");
    assert.deepEqual(await started.ended, { code: null, signal: "SIGTERM" });
  });

  test(`GracefulShutdown: it does not keep the process alive, ${name}`, async () => {
    const started = await start(name, "tests/shutdown/bystander.ts", ["idle"]);
    assert.deepEqual(await started.ended, { code: 0, signal: null });
  });

  test(`GracefulShutdown: the deadline comes also where nothing else keeps the process alive, ${name}`, async () => {
    const started = await start(name, "tests/shutdown/bystander.ts", ["stuck"]);
    assert.deepEqual(await started.ended, { code: 0, signal: null });
    assert.match(started.output.text, /finished without the endless one/);
  });

  test(`examples: the graceful server serves, shows and drains, ${name}`, async () => {
    const started = await start(name, EXAMPLE[name], ["--port", "0"]);
    const url = await said(started, /(http:\S+\/)/);
    assert.match((await ask(url)).body, /<title>Graceful server<\/title>/);
    assert.equal((await ask(`${url}ready`)).status, 200);
    assert.match((await ask(`${url}slow?ms=abc`)).body, /^ms must be a whole number from 0 to 60000, got "abc"/);
    const events = read(await fetch(`${url}events`));
    const slow = ask(`${url}slow?ms=3000`);
    while (!events.text.includes('"GET /slow":1')) await nextTurn();
    assert.equal((await ask(`${url}shutdown`, "POST")).status, 202);
    assert.equal((await slow).body, "you waited 3000 ms\n");
    await events.ended;
    assert.match(events.text, /"ready":true[^]*"ready":false[^]*event: drained\ndata: {}\n\n$/);
    assert.deepEqual(await started.ended, { code: 0, signal: null });
    assert.match(started.output.text, /the database is closed\ndrained after \d+ ms/);
  });
}

interface Answer {
  status: number;
  body: string;
}

async function ask(url: string, method = "GET"): Promise<Answer> {
  const response = await fetch(url, { method });
  return { status: response.status, body: await response.text() };
}

/** Collects an answer as it comes. */
function read(response: Response): { text: string; ended: Promise<void> } {
  const decoder = new TextDecoder();
  const reading = { text: "", ended: collect() };
  async function collect(): Promise<void> {
    const reader = response.body!.getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      reading.text += decoder.decode(next.value, { stream: true });
    }
  }
  return reading;
}

/** Registers a test of processes of all run-times at the same time: they wait for seconds. */
function everywhere(name: string, fn: (on: ProgramName) => Promise<void>): void {
  if (runtime !== "deno") return;
  test(`shutdown: ${name}, on all run-times`, async () => {
    const runs = (["deno", "node", "node20", "bun"] as const).map((on) =>
      fn(on).catch((cause) => {
        throw new Error(`in ${on}`, { cause });
      })
    );
    await Promise.allSettled(runs); // none is left behind
    await Promise.all(runs);
  });
}

everywhere("a process that its shutdown leaves something open in says so after 5 s", async (on) => {
  const [stays, closes] = await Promise.all([
    start(on, "tests/shutdown/stays_alive.ts", []),
    start(on, "tests/shutdown/stays_alive.ts", ["closes"]),
  ]);
  assert.equal((await closes.ended).code, 0);
  assert.equal(closes.output.text, "finished true\n");
  await until(() => stays.output.text.includes("INTERLOCK_STILL_ALIVE"));
  assert.match(stays.output.text, /still alive 5000 ms after its shutdown.*process\.exit\(ok \? 0 : 1\)/);
  if (on.startsWith("node")) assert.match(stays.output.text, /kept by .*Timeout/);
  stays.child.kill("SIGKILL");
  await stays.ended;
});

everywhere("a process with several of them says so once, and not while one of them goes on", async (on) => {
  const [both, serves] = await Promise.all([
    start(on, "tests/shutdown/stays_alive.ts", ["both"]),
    start(on, "tests/shutdown/stays_alive.ts", ["serves"]),
  ]);
  await Promise.all([both.ended, serves.ended]);
  assert.equal(both.output.text.match(/INTERLOCK_STILL_ALIVE/g)?.length, 1);
  assert.equal(serves.output.text, "finished true\n");
});

everywhere("a process that ends during it prints one line", async (on) => {
  const expected = {
    early: "[INTERLOCK_CUT_SHORT] Warning: Process ends during its shutdown; in flight: the endless one\n",
    step: "[INTERLOCK_CUT_SHORT] Warning: Process ends during its shutdown; in flight: leaves\n",
    after: "",
    before: "",
  };
  for (const [mode, text] of Object.entries(expected)) {
    const started = await start(on, "tests/shutdown/exits.ts", [mode]);
    assert.deepEqual([mode, (await started.ended).code, started.output.text], [mode, 0, text]);
  }
});

everywhere("in a worker thread, waiting for OS signals is a warning where none arrive", async (on) => {
  const [loud, quiet] = [
    await start(on, "tests/shutdown/exits.ts", ["worker"]),
    await start(on, "tests/shutdown/exits.ts", ["quiet worker"]),
  ];
  assert.deepEqual([(await loud.ended).code, (await quiet.ended).code], [0, 0]);
  assert.equal(loud.output.text.match(/INTERLOCK_WORKER/g)?.length ?? 0, on === "deno" ? 0 : 1, loud.output.text);
  assert.equal(quiet.output.text, "");
});
