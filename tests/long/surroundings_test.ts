/** The built package in surroundings that need packages of their own: other libraries, and compilers to older targets. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { runtime, test as register } from "../_test.ts";
import { said, signal, started } from "../shutdown/round.ts";
import { program } from "../shutdown/runtimes.ts";
import { assertInstalled, folder } from "./surroundings/install.ts";

/** The package is built by Deno, and the tests start other run-times by themselves. */
const test: typeof register = runtime === "deno" ? register : () => {};

/** Builds the package, and installs the packages of this folder. */
function prepare(): void {
  assertInstalled();
  const built = spawnSync(process.execPath, ["run", "-A", "scripts/build_npm.ts"], { encoding: "utf8" });
  assert.equal(built.status, 0, built.stderr);
  const installed = `${folder}node_modules/@interlock/interlock`;
  rmSync(installed, { recursive: true, force: true });
  cpSync("npm", installed, { recursive: true });
}

/** The last line of JSON that a program prints; runners indent it. */
function json(command: string, ...args: string[]): unknown {
  const { stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: "utf8" });
  const line = `${stdout}\n${stderr}`.split("\n").findLast((line) => line.trimStart().startsWith('{"'));
  assert.ok(line !== undefined, stdout + stderr);
  return JSON.parse(line);
}

if (runtime === "deno") prepare();

/** Node 20 and Bun: of this machine or from npm. */
const [node, bun] = runtime === "deno" ? [await program("node20"), await program("bun")] : ["", ""];
const deno = process.execPath;

/** What the programs of libraries.js print. */
interface Cancelled {
  readonly checked: readonly string[];
  readonly missing: Readonly<Record<string, string>>;
  readonly failures: readonly string[];
}

const LIBRARIES = 13;

for (const [name, ...command] of [["Node", node], ["Deno", deno, "run", "-A", "--no-check"], ["Bun", bun]]) {
  test(`libraries, ${name}: a cancelled call inside of a pool is no failure`, () => {
    const { checked, missing, failures } = json(command[0]!, ...command.slice(1), "run_libraries.mjs") as Cancelled;
    assert.deepEqual({ missing, failures }, { missing: {}, failures: [] });
    assert.equal(checked.length, LIBRARIES);
  });
}

/** What exercise.mjs finds. */
const WORKS = {
  late: 'TimeoutError: Cannot acquire lock "orders": timed out after 5 ms',
  ...{ cancelled: "AbortError", mapped: [2, 4, 6], array: [2, 4, 6], failed: "failed", task: "cancelled" },
  ...{ got: 7, notified: true, ok: true, shown: "false false" },
};

for (const compiler of ["typescript", "babel", "esbuild", "swc"]) {
  test(`ES2019: the package works when it is lowered by ${compiler}`, () => {
    const target = mkdtempSync(join(tmpdir(), "interlock-lowered-"));
    try {
      assert.deepEqual(json(node, "lower.mjs", compiler, target), WORKS);
    } finally {
      rmSync(target, { recursive: true, force: true });
    }
  });
}

test("Vite: Ctrl-C ends its dev server while a page has its HMR socket open", async () => {
  const server = started(spawn(node, ["vite.mjs"], { cwd: folder }));
  const address = await said(server, /listening on (.*)\n/);
  const page = new WebSocket(`ws://127.0.0.1:${address}`, "vite-hmr");
  await new Promise((connected) => page.onmessage = connected);
  const closed = new Promise((resolve) => page.onclose = resolve);
  signal(server, "SIGINT");
  await closed;
  assert.deepEqual([(await server.ended).code, server.output.text], [0, `listening on ${address}\n`]); // within its grace
});

for (const library of ["zone.js", "bluebird"]) {
  test(`${library}: the package works on when Promise and timers are replaced after loading`, () => {
    assert.deepEqual(json(node, "globals.mjs", library), WORKS);
  });
}

test("Vue wraps a lock unless it is marked as raw; MobX leaves it alone", () => {
  assert.deepEqual(json(node, "proxies.mjs"), {
    ...{ reactive: "TypeError", ref: "TypeError" },
    ...{ markRaw: true, shallowReactive: true, observable: true, makeAutoObservable: true },
  });
});

test("minified: logs and errors name the classes as they are exported", () => {
  assert.deepEqual(json(node, "minified.mjs"), {
    isRenamed: true,
    shown: {
      lock: "Lock { name: 'orders', locked: true, waiting: 0 }",
      guard: "Guard { held: true }",
      semaphore: "Semaphore { value: 2, locked: false, waiting: 0 }",
      error: "TimeoutError: late",
    },
    thrown: [
      "TypeError: lock must be a Lock, got an object (Semaphore)",
      "TypeError: rate must be a RateLimiter (await any other limiter in the function), got an object (Lock)",
      "TypeError: options must not be a RateLimiter: pass { rate }, got an object (RateLimiter)",
      "list[0] must be a lock, a semaphore, a side of a RwLock (rw.reader, rw.writer) or a key (mutex.at(key)), got an object (Pool)",
    ],
  });
});

const JEST = ["jest", "--config=runners/babel-jest.json"];
const VITEST = ["vitest", "run", "--globals", "--pool=vmThreads", "--dir=runners"];

/** Each runs the files of runners/ in realms of its own. `missing`: libraries that it cannot load, whoever uses them. */
const RUNNERS: readonly { name: string; command: readonly string[]; missing: readonly string[] }[] = [
  // Jest finds no module that is exported for `import` alone, such as one that execa needs.
  { name: "ts-jest", command: ["jest", "--config=runners/ts-jest.json"], missing: ["execa"] },
  { name: "babel-jest", command: JEST, missing: ["execa"] },
  // jsdom has neither fetch nor TextEncoder and TextDecoder.
  { name: "babel-jest, jsdom", command: [...JEST, "--env=jsdom"], missing: ["fetch", "undici", "got", "ky", "execa"] },
  // Vitest takes the ES module of axios for CommonJS.
  { name: "Vitest, vmThreads", command: VITEST, missing: ["axios"] },
];

for (const { name, command: [command, ...args], missing } of RUNNERS) {
  const run = [`node_modules/.bin/${command}`, ...args];

  test(`${name}: primitives, disposal and cancellation`, () => {
    const { status, stdout, stderr } = spawnSync(node, [...run, "primitives"], { cwd: folder, encoding: "utf8" });
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout + stderr, /3 passed/);
  });

  test(`libraries, ${name}: a cancelled call inside of a pool is no failure`, () => {
    // Most of these libraries are ES modules, which Jest has to transform.
    const more = command === "jest" ? ["--transformIgnorePatterns=/node_modules/undici/"] : [];
    const result = json(node, ...run, "libraries", ...more) as Cancelled;
    assert.deepEqual(result.failures, []);
    assert.deepEqual(Object.keys(result.missing), missing, JSON.stringify(result.missing));
    assert.equal(result.checked.length, LIBRARIES - missing.length);
  });
}

const BIN = "node_modules/.bin/";
const PLAIN = "runners/plain.test.cjs";
/** Runners and loaders without any settings, and what they print. */
const WITHOUT_SETTINGS: readonly (readonly [name: string, command: readonly string[], printed: RegExp])[] = [
  ["Jest 29", [`${BIN}jest`, "--rootDir=runners", "--testMatch=**/plain.test.cjs"], /1 passed/],
  ["Jest 30", ["node_modules/jest30/bin/jest.js", "--rootDir=runners", "--testMatch=**/plain.test.cjs"], /1 passed/],
  ["mocha", [`${BIN}mocha`, PLAIN], /1 passing/],
  ["ts-node", [`${BIN}ts-node`, "runners/commonjs/program.ts"], /1 passed/],
  ["tsx", [`${BIN}tsx`, "runners/commonjs/program.ts"], /1 passed/],
];

for (const [name, command, printed] of WITHOUT_SETTINGS) {
  test(`${name}: the package is required without any settings, also without require(esm)`, () => {
    for (const flags of [[], ["--no-experimental-require-module"]]) {
      const { stdout, stderr } = spawnSync(node, [...flags, ...command], { cwd: folder, encoding: "utf8" });
      assert.match(stdout + stderr, printed);
    }
  });
}

test("webpack, and esbuild and Rolldown as ES module and CommonJS: one instance of each class, by its name", () => {
  const bundlers = ["webpack", "esm", "cjs", "rolldown esm", "rolldown cjs"];
  assert.deepEqual(json(node, "bundlers.mjs"), Object.fromEntries(bundlers.map((name) => [name, "Lock 1 true"])));
});
