/** The repository keeps its own rules. rules_test.ts shows that the rules can fail. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "../_test.ts";
import { PUBLIC_NAMES } from "./public_names.ts";
import * as rules from "./rules.ts";
import * as texts from "./texts.ts";
import { Tree } from "./tree.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const KEPT_HIDDEN = new Set([".ci", ".github", ".gitignore", ".dvmrc"]);
/** Built or installed. */
const ignored = new Set(read(".gitignore").split("\n").map((line) => line.replace(/\/$/, "")));

const paths = [...walk("")];
const tree = new Tree(paths.filter((path) => /^(mod|lib\/.*)\.ts$/.test(path)).map((path) => [path, read(path)]));
const denoJson = JSON.parse(read("deno.json")) as texts.DenoJson;
const files = new Set(paths);

const structure = {
  importsPointDown: rules.importsPointDown,
  noCycles: rules.noCycles,
  onlyRelativeImports: rules.onlyRelativeImports,
  noDeno: rules.noDeno,
  oneCancellation: rules.oneCancellation,
  oneProcess: rules.oneProcess,
  noUsing: rules.noUsing,
  noPrivateGetters: rules.noPrivateGetters,
  shortFiles: rules.shortFiles,
  usedInLibrary: rules.usedInLibrary,
  filesSayTheirJob: rules.filesSayTheirJob,
};
for (const [name, rule] of Object.entries(structure)) {
  test(`shape: ${name}`, () => assert.deepEqual(rule(tree), []));
}

const entries = Object.entries(denoJson.exports).map(([name, path]) => [name, path.replace(/^\.\//, "")] as const);
for (const [name, entry] of entries) {
  const promises: Record<string, rules.Rule> = {
    "shows every class and function by an example, and says of classes that they are not meant to be extended": rules
      .commented(entry),
    "explains everything that waits": rules.waitingIsExplained(entry),
    "is tested file by file": rules.tested(entry, files),
    "has the public names that users were promised": rules.hasNames(entry, PUBLIC_NAMES[name]!),
  };
  for (const [promise, rule] of Object.entries(promises)) {
    test(`shape: ${entry} ${promise}`, () => assert.deepEqual(rule(tree), []));
  }
}

test("shape: the entry points are those of the public names", () => {
  assert.deepEqual(entries.map(([name]) => name), Object.keys(PUBLIC_NAMES));
});

test("shape: everything at the top is there", () => {
  const expected = ["mod.ts", "deno.json", "README.md", "CHANGELOG.md", "LICENSE", ".ci/run", ".dvmrc"];
  assert.deepEqual(expected.filter((path) => !files.has(path)), []);
  assert.match(read("CHANGELOG.md"), /## \[Unreleased\]/);
});

test("shape: every command in the Markdown files is a task", () => {
  const documents = paths.filter((path) => path.endsWith(".md"));
  assert.deepEqual(documents.flatMap((path) => texts.unknownTasks(path, read(path), denoJson)), []);
  assert.match(read("README.md"), /deno@\S+ task test\b/);
});

test("shape: every path in CONTRIBUTING.md exists, and every file in lib/ is in a folder that it explains", () => {
  const text = read("CONTRIBUTING.md");
  assert.deepEqual(texts.wrongPaths("CONTRIBUTING.md", text, files), []);
  const explained = [...text.matchAll(/^(lib\/[\w/]*) /gm)].map(([, folder]) => folder!);
  const folders = new Set(tree.paths.filter((path) => path !== "mod.ts").map((path) => path.replace(/[^/]*$/, "")));
  assert.deepEqual([...folders].filter((folder) => !explained.includes(folder)), []);
});

test("shape: Deno's version is the same wherever it is named", () => {
  const pinned = read(".dvmrc").trim();
  assert.deepEqual(paths.flatMap((path) => texts.otherVersions(path, read(path), pinned)), []);
});

test("shape: workflows use pinned actions, with stated permissions", () => {
  const workflows = paths.filter((path) => path.startsWith(".github/workflows/"));
  assert.ok(workflows.length > 0);
  assert.deepEqual(workflows.flatMap((path) => texts.looseWorkflow(path, read(path))), []);
});

test("shape: nothing knows the machine that it was written on", () => {
  assert.deepEqual(paths.flatMap((path) => texts.machineWords(path, read(path))), []);
});

function* walk(folder: string): Iterable<string> {
  for (const entry of readdirSync(root + folder, { withFileTypes: true })) {
    const { name } = entry, path = folder + name;
    if (name.startsWith(".") && !KEPT_HIDDEN.has(name) || ignored.has(name) || ignored.has(path)) continue;
    if (entry.isDirectory()) yield* walk(`${path}/`);
    else yield path;
  }
}

function read(path: string): string {
  assert.ok(existsSync(root + path), `${path} is missing`);
  return readFileSync(root + path, "utf8");
}
