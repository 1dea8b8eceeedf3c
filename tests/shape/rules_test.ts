/** The rules of shape_test.ts can fail: each finds its planted violation, and nothing where there is none. */
import assert from "node:assert/strict";
import { test } from "../_test.ts";
import * as rules from "./rules.ts";
import * as texts from "./texts.ts";
import { Tree } from "./tree.ts";

/** A small tree that keeps every rule. */
const SOUND: Record<string, string> = {
  "mod.ts": `export type { Guard } from "./lib/types.ts";\nexport { Lock } from "./lib/lock.ts";`,
  "lib/types.ts": "/** Types. */\n/** Proof. */\nexport interface Guard { held: boolean }",
  "lib/errors.ts": "/** Errors. */\nexport class SyncError extends Error {}",
  "lib/internal/check.ts": `/** Checks. */\nimport type { Guard } from "../types.ts";`,
  "lib/internal/wait_queue.ts": `/** The queue. */\nimport { SyncError } from "../errors.ts";`,
  "lib/base.ts": `/** Base. */\nexport class Base { #secret = 1; release(): void {} }`,
  "lib/lock.ts": `/** Lock. */
import type { Guard } from "./types.ts";
import {} from "./internal/wait_queue.ts";
import { Base } from "./base.ts";
/** A lock. Not meant to be extended. @example x */
export class Lock extends Base {
  get locked(): boolean { return false; }
  /** **Fairness**: a line. **Cancellation**: clean. */
  acquire(options?: WaitOptions): Promise<Guard> { using(options); }
  [Symbol.dispose](): void {}
}`,
  "lib/redis/mod.ts":
    `/** Redis. */\nimport {} from "../types.ts";\nimport {} from "../internal/check.ts";\nimport {} from "./port.ts";`,
  "lib/diagnostics/mod.ts": `/** Observers. */\nimport {} from "../internal/check.ts";`,
  "lib/dashboard/mod.ts":
    `/** Page. */\nimport {} from "../internal/check.ts";\nimport {} from "../diagnostics/mod.ts";`,
  "lib/diagnostics/hub.ts": "/** Hub. */",
  "lib/web/mod.ts": `/** Web. */\nimport {} from "../errors.ts";`,
  "lib/redis/port.ts": "/** Port. */\nexport interface Port { Deno: string }",
};

function check(rule: rules.Rule, planted: Record<string, string>): number {
  assert.deepEqual(rule(new Tree(Object.entries(SOUND))), [], "the sound tree is sound");
  return rule(new Tree(Object.entries({ ...SOUND, ...planted }))).length;
}

/** Appends to a sound file. */
function with_(path: string, more: string): Record<string, string> {
  return { [path]: `${SOUND[path]}\n${more}` };
}

test("rules: imports point down", () => {
  const cases: [path: string, target: string][] = [
    ["lib/internal/wait_queue.ts", "../lock.ts"],
    ["lib/internal/check.ts", "./wait_queue.ts"],
    ["lib/types.ts", "./internal/check.ts"],
    ["lib/lock.ts", "./redis/port.ts"],
    ["lib/lock.ts", "../mod.ts"],
    ["lib/redis/mod.ts", "../lock.ts"],
    ["lib/redis/mod.ts", "../internal/wait_queue.ts"],
    ["lib/redis/mod.ts", "../../mod.ts"],
    ["lib/diagnostics/mod.ts", "../lock.ts"],
    ["lib/diagnostics/mod.ts", "../redis/port.ts"],
    ["lib/diagnostics/mod.ts", "../dashboard/mod.ts"],
    ["lib/dashboard/mod.ts", "../diagnostics/hub.ts"],
    ["lib/dashboard/mod.ts", "../lock.ts"],
    ["lib/web/mod.ts", "../lock.ts"],
    ["lib/web/mod.ts", "../internal/wait_queue.ts"],
    ["lib/web/mod.ts", "../redis/mod.ts"],
    ["lib/redis/mod.ts", "../diagnostics/mod.ts"],
    ["lib/lock.ts", "./diagnostics/mod.ts"],
    ["lib/lock.ts", "./web/mod.ts"],
  ];
  for (const [path, target] of cases) {
    assert.equal(check(rules.importsPointDown, with_(path, `import {} from "${target}";`)), 1, `${path} → ${target}`);
    assert.equal(check(rules.importsPointDown, with_(path, `export type { A } from "${target}";`)), 1);
  }
});

test("rules: no cycles, mod.ts free of redis", () => {
  assert.equal(check(rules.noCycles, with_("lib/base.ts", `import type { Lock } from "./lock.ts";`)), 2);
  assert.equal(check(rules.noCycles, with_("lib/types.ts", `import {} from "./types.ts";`)), 1);
  assert.equal(check(rules.localIsFreeOfOtherEntries, with_("lib/errors.ts", `import {} from "./redis/port.ts";`)), 1);
  assert.equal(check(rules.localIsFreeOfOtherEntries, with_("mod.ts", `export {} from "./lib/redis/mod.ts";`)), 2);
  for (const entry of ["diagnostics", "dashboard", "web"]) {
    const planted = with_("mod.ts", `export {} from "./lib/${entry}/mod.ts";`);
    assert.notEqual(check(rules.localIsFreeOfOtherEntries, planted), 0, entry);
  }
});

test("rules: only relative imports, with their endings", () => {
  for (
    const specifier of [
      "npm:redis",
      "jsr:@db/redis",
      "node:process",
      "redis",
      "https://a.b/c.ts",
      "./types",
      "./types.js",
    ]
  ) {
    assert.equal(
      check(rules.onlyRelativeImports, with_("lib/redis/mod.ts", `import {} from "${specifier}";`)),
      1,
      specifier,
    );
  }
});

test("rules: timers and signals only in the cancellation", () => {
  const uses = ["setTimeout(a);", "globalThis.clearInterval(1);", 'signal.addEventListener("abort", a);'];
  for (const code of uses) {
    assert.equal(check(rules.oneCancellation, with_("lib/lock.ts", code)), 1, code);
    assert.equal(check(rules.oneCancellation, { "lib/internal/timers.ts": code }), 0, code);
  }
  const fine = ["// setTimeout(a)", "type A = ReturnType<typeof setTimeout>;", 'signal.addEventListener("error", a);'];
  for (const code of fine) assert.equal(check(rules.oneCancellation, with_("lib/lock.ts", code)), 0, code);
});

test("rules: the platform's process in one file", () => {
  for (const code of ["process.exit();", "(globalThis as { process?: A }).process?.exit();", "globalThis.process;"]) {
    assert.equal(check(rules.oneProcess, with_("lib/lock.ts", code)), 1, code);
    assert.equal(check(rules.oneProcess, { "lib/internal/platform.ts": `/** Platform. */\n${code}` }), 0, code);
  }
  for (
    const code of [
      "connection.process;",
      "const a = { process: 1 };",
      "// process.exit()",
      "interface A { process: B }",
    ]
  ) {
    assert.equal(check(rules.oneProcess, with_("lib/lock.ts", code)), 0, code);
  }
});

test("rules: no Deno, no using, nothing that can't be erased", () => {
  assert.equal(check(rules.noDeno, with_("lib/lock.ts", "Deno.exit();")), 1);
  assert.equal(check(rules.noDeno, with_("lib/lock.ts", "globalThis.Deno?.exit();")), 1);
  assert.equal(check(rules.noDeno, with_("lib/lock.ts", "// Deno.exit() is not for us: 'Deno'")), 0);
  assert.equal(check(rules.noUsing, with_("lib/lock.ts", "function a() { using _ = b(); }")), 1);
  assert.equal(check(rules.noUsing, with_("lib/lock.ts", "async function a() { await using _ = b(); }")), 1);
  assert.equal(check(rules.noUsing, with_("lib/lock.ts", "let a; const b = 1;")), 0);
  assert.equal(check(rules.noPrivateGetters, with_("lib/lock.ts", "class A { get #b() { return 1; } }")), 1);
  assert.equal(check(rules.noPrivateGetters, with_("lib/lock.ts", "class A { get b() { return 1; } #c() {} }")), 0);
  const notErasable = [
    "enum A { B }",
    "namespace A { export const b = 1; }",
    "class A { constructor(readonly b: string) {} }",
  ];
  for (const code of [...notErasable, "const a = <string> b;", 'import a = require("a");', "class A { @b c() {} }"]) {
    assert.equal(check(rules.erasable, with_("lib/lock.ts", code)), 1, code);
  }
});

test("rules: nothing is in lib/ for tests alone", () => {
  assert.equal(check(rules.usedInLibrary, with_("lib/base.ts", "export function assertSoundBase(): void {}")), 1);
  assert.equal(check(rules.usedInLibrary, with_("lib/base.ts", "export const forTests = 1;")), 1);
  assert.equal(check(rules.usedInLibrary, with_("lib/base.ts", "export const used = 1; used.toFixed();")), 0);
});

test("rules: short files that say their job", () => {
  const long = "/** Comment. */\n\n// More.\na();\n".repeat(rules.MOST_CODE_LINES);
  assert.equal(check(rules.shortFiles, { "lib/lock.ts": long }), 0);
  assert.equal(check(rules.shortFiles, { "lib/lock.ts": `${long}b();` }), 1);
  assert.equal(check(rules.shortFiles, { "lib/lock.ts": `${long}\`\n\`` }), 1);
  assert.equal(check(rules.filesSayTheirJob, { "lib/lock.ts": "export const a = 1;\n/** Late. */" }), 1);
});

test("rules: public names are documented, by example", () => {
  const documented = rules.documented("mod.ts");
  assert.equal(check(documented, { "lib/lock.ts": "/** Lock. */\n\n/** No case. */\nexport class Lock {}" }), 1);
  assert.equal(check(documented, { "lib/types.ts": "import {} from './errors.ts';\nexport interface Guard {}" }), 1);
  assert.equal(check(documented, with_("mod.ts", "export function a() {}")), 1);
});

test("rules: public classes say that they are not meant to be extended", () => {
  const said = { "lib/lock.ts": "/** Lock. */\n\n/** Not meant to be extended. */\nexport class Lock {}" };
  assert.equal(check(rules.notExtended("mod.ts"), said), 0);
  assert.equal(check(rules.notExtended("mod.ts"), { "lib/lock.ts": said["lib/lock.ts"].replace("Not", "") }), 1);
});

test("rules: what waits is explained", () => {
  const explained = rules.waitingIsExplained("mod.ts");
  const lock = SOUND["lib/lock.ts"]!;
  assert.equal(check(explained, { "lib/lock.ts": lock.replace("**Fairness**", "") }), 1);
  assert.equal(check(explained, { "lib/lock.ts": lock.replace("**Cancellation**", "") }), 1);
  assert.equal(check(explained, { "lib/lock.ts": lock.replace(/\/\*\* \*\*Fair.*/, "") }), 2);
});

test("rules: public classes have tests", () => {
  const tree = new Tree(Object.entries(SOUND));
  assert.deepEqual(rules.tested("mod.ts", new Set(["tests/lock_test.ts"]))(tree), []);
  assert.equal(rules.tested("mod.ts", new Set(["tests/locks_test.ts"]))(tree).length, 1);
});

test("rules: the public names and members, inherited ones included", () => {
  const tree = new Tree(Object.entries(SOUND));
  const broken = (names: Record<string, string>) => rules.hasNames("mod.ts", names)(tree);
  const whole = { Guard: "held", Lock: "acquire locked release Symbol.dispose" };
  assert.deepEqual(broken(whole), []);
  assert.deepEqual(broken({ ...whole, Base: "" }), ["mod.ts has no Base"], "there, but not exported");
  const otherwise = { Guard: "held", Lock: "acquire run #secret locked" };
  assert.deepEqual(broken(otherwise), [
    "Lock has no run",
    "Lock has no #secret",
    "Lock.release is not in tests/shape/public_names.ts",
  ]);
  assert.deepEqual(broken({ Guard: "held" }), ["Lock is not in tests/shape/public_names.ts"]);
});

test("rules: the other files", () => {
  const pinned = "permissions: {}\n- uses: actions/checkout@11d5960a326750d5838078e36cf38b85af677262 # v4.4.0\n";
  assert.deepEqual(texts.looseWorkflow("a.yml", pinned), []);
  assert.equal(texts.looseWorkflow("a.yml", `${pinned}- uses: actions/checkout@v4\n`).length, 1);
  assert.equal(texts.looseWorkflow("a.yml", pinned.replace("permissions", "x")).length, 1);
  const denoJson = { exports: {}, tasks: { test: "" } };
  assert.deepEqual(texts.unknownTasks("a", "npx --yes deno@2.9.6 task test", denoJson), []);
  assert.equal(texts.unknownTasks("a", "deno task tests and `deno@2.9.6 task demo`", denoJson).length, 2);
  const files = new Set(["lib/lock.ts", "docs/redis.md"]);
  const fine = "`lib/lock.ts`, lib/, `lock.ts`, docs/redis.md, a new `lib/web_lock.ts`, `lib/NAME.ts`, https://a/lib/b";
  assert.deepEqual(texts.wrongPaths("a", fine, files), []);
  const wrong = "`lib/look.ts`, `look.ts`, lib/internal/, docs/redis and a new `lib/lock.ts`";
  assert.equal(texts.wrongPaths("a", wrong, files).length, 5);
  assert.deepEqual(texts.otherVersions("a", `npx deno@${"1.2.3"} task`, "1.2.3"), []);
  assert.equal(texts.otherVersions("a", `npx deno@${"1.2.30"} task`, "1.2.3").length, 1);
  assert.equal(texts.dependencies({ devDependencies: {}, dependencies: {} }).length, 1);
  assert.equal(texts.machineWords("a", `cd ${["/tmp", "wt", "a"].join("/")}`).length, 1);
});
