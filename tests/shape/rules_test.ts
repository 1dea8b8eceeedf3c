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
  const upwards: Record<string, string[]> = {
    "mod.ts": ["./lib/redis/mod.ts", "./lib/web/mod.ts", "./lib/diagnostics/mod.ts", "./lib/dashboard/mod.ts"],
    "lib/internal/wait_queue.ts": ["../lock.ts"],
    "lib/internal/check.ts": ["./wait_queue.ts"],
    "lib/types.ts": ["./internal/check.ts"],
    "lib/lock.ts": ["./redis/port.ts", "../mod.ts", "./diagnostics/mod.ts", "./web/mod.ts"],
    "lib/redis/mod.ts": ["../lock.ts", "../internal/wait_queue.ts", "../../mod.ts", "../diagnostics/mod.ts"],
    "lib/diagnostics/mod.ts": ["../lock.ts", "../redis/port.ts", "../dashboard/mod.ts"],
    "lib/dashboard/mod.ts": ["../diagnostics/hub.ts", "../lock.ts"],
    "lib/web/mod.ts": ["../lock.ts", "../internal/wait_queue.ts", "../redis/mod.ts"],
  };
  for (const [path, targets] of Object.entries(upwards)) {
    for (const target of targets) {
      assert.equal(check(rules.importsPointDown, with_(path, `import {} from "${target}";`)), 1, `${path} → ${target}`);
      assert.equal(check(rules.importsPointDown, with_(path, `export type { A } from "${target}";`)), 1);
    }
  }
});

test("rules: no cycles", () => {
  assert.equal(check(rules.noCycles, with_("lib/base.ts", `import type { Lock } from "./lock.ts";`)), 2);
  assert.equal(check(rules.noCycles, with_("lib/types.ts", `import {} from "./types.ts";`)), 1);
});

interface Codes {
  /** Each breaks the rule at one place. */
  readonly broken: readonly string[];
  readonly fine: readonly string[];
  /** The file that may have the broken ones. */
  readonly exempt?: string;
}

/** By rule: code at the end of lib/lock.ts. */
const RULES_OF_CODE: Readonly<Partial<Record<keyof typeof rules, Codes>>> = {
  onlyRelativeImports: {
    broken: ["npm:redis", "jsr:@db/redis", "node:process", "redis", "https://a.b/c.ts", "./types", "./types.js"]
      .map((specifier) => `import {} from "${specifier}";`),
    fine: [],
  },
  oneCancellation: {
    broken: ["setTimeout(a);", "globalThis.clearInterval(1);", 'signal.addEventListener("abort", a);'],
    fine: ["// setTimeout(a)", "type A = ReturnType<typeof setTimeout>;", 'signal.addEventListener("error", a);'],
    exempt: "lib/internal/timers.ts",
  },
  oneProcess: {
    broken: ["process.exit();", "(globalThis as { process?: A }).process?.exit();", "globalThis.process;"],
    fine: ["connection.process;", "const a = { process: 1 };", "// process.exit()", "interface A { process: B }"],
    exempt: "lib/internal/platform.ts",
  },
  noDeno: {
    broken: ["Deno.exit();", "globalThis.Deno?.exit();"],
    fine: ["// Deno.exit() is not for us: 'Deno'"],
  },
  noUsing: {
    broken: ["function a() { using _ = b(); }", "async function a() { await using _ = b(); }"],
    fine: ["let a; const b = 1;"],
  },
  noPrivateGetters: {
    broken: ["class A { get #b() { return 1; } }"],
    fine: ["class A { get b() { return 1; } #c() {} }"],
  },
  usedInLibrary: {
    broken: ["export function assertSoundLock(): void {}", "export const forTests = 1;"],
    fine: ["export const used = 1; used.toFixed();"],
  },
};

for (const [name, { broken, fine, exempt }] of Object.entries(RULES_OF_CODE)) {
  test(`rules: ${name}`, () => {
    const rule = rules[name as keyof typeof rules] as rules.Rule;
    for (const code of broken) assert.equal(check(rule, with_("lib/lock.ts", code)), 1, code);
    for (const code of fine) assert.equal(check(rule, with_("lib/lock.ts", code)), 0, code);
    if (exempt === undefined) return;
    for (const code of broken) assert.equal(check(rule, { [exempt]: `/** Exempt. */\n${code}` }), 0, code);
  });
}

test("rules: short files that say their job", () => {
  const long = "/** Comment. */\n\n// More.\na();\n".repeat(rules.MOST_CODE_LINES);
  assert.equal(check(rules.shortFiles, { "lib/lock.ts": long }), 0);
  assert.equal(check(rules.shortFiles, { "lib/lock.ts": `${long}b();` }), 1);
  assert.equal(check(rules.shortFiles, { "lib/lock.ts": `${long}\`\n\`` }), 1);
  assert.equal(check(rules.filesSayTheirJob, { "lib/lock.ts": "export const a = 1;\n/** Late. */" }), 1);
});

test("rules: public classes and functions have an example, classes are not to be extended", () => {
  const commented = rules.commented("mod.ts");
  assert.equal(check(commented, { "lib/lock.ts": "/** Lock. */\n\n/** No words. */\nexport class Lock {}" }), 2);
  assert.equal(check(commented, with_("mod.ts", "export function a() {}")), 1);
  assert.equal(check(commented, with_("mod.ts", "export class AError {}\nexport interface A {}")), 0);
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
  assert.equal(texts.machineWords("a", `cd ${["/tmp", "wt", "a"].join("/")}`).length, 1);
});
