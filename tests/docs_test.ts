/** Every example in the doc comments and every snippet of the Markdown files compiles, runs, and prints what its comments say. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { format } from "node:util";
import { background, guide, migrating } from "../docs/.vitepress/pages.ts";
import { names as publicNames } from "../docs/.vitepress/reference.ts";
import { brokenPromises, instrumented, mapped, type Print, runs, type Snippet, snippetsOf } from "./_snippets.ts";
import { deeply } from "./_random.ts";
import { runtime, test } from "./_test.ts";

interface Exception {
  /** The snippet: its file, and a piece of its code that no other snippet there has. */
  readonly file: string;
  readonly has: string;
  /** The run-times that it can run in. */
  readonly runsIn: readonly (typeof runtime)[];
  /** Whether it compiles in this tree. Default: true. */
  readonly compiles?: boolean;
  readonly reason: string;
}

/** Snippets that cannot run everywhere. All others do. */
const EXCEPTIONS: readonly Exception[] = [
  {
    file: "README.md",
    has: "REDIS_URL",
    runsIn: [],
    reason: "needs a Redis to talk to; tests/redis runs the same against real servers",
  },
  {
    file: "docs/redis.md",
    has: "REDIS_URL",
    runsIn: [],
    reason: "needs a Redis to talk to; tests/redis runs the same against real servers",
  },
  {
    file: "README.md",
    has: "Deno.serve(",
    runsIn: [],
    reason: "a server that runs until it is told to stop; examples/graceful_server.ts is run",
  },
  {
    file: "docs/shutdown.md",
    has: "uncaughtException",
    runsIn: [],
    reason: "it would end the process of the tests, and take every uncaught error of theirs",
  },
  {
    file: "docs/getting-started.md",
    has: "server.listen(8123",
    runsIn: [],
    reason: "a server that runs until it is told to stop; tests/shutdown runs many of node:http",
  },
  {
    file: "docs/getting-started.md",
    has: "createClient(",
    runsIn: [],
    reason: "needs a Redis to talk to; tests/redis runs the same against real servers",
  },
  {
    file: "docs/it-hangs.md",
    has: "watchdog();",
    runsIn: [],
    reason: "it would stay on, and watch the snippets of other pages; tests/diagnostics runs many",
  },
  {
    file: "docs/diagnostics.md",
    has: "getMeter",
    runsIn: [],
    reason: "it would stay on, and count the calls of other pages; tests/diagnostics/metrics_test.ts runs the same",
  },
  {
    file: "docs/testing.md",
    has: 'from "vitest"',
    runsIn: [],
    compiles: false,
    reason: "runs in Vitest or Jest; tests/internal/_fake_clocks.ts has the clocks that they replace",
  },
  {
    file: "docs/diagnostics.md",
    has: "Bun.serve(",
    runsIn: [],
    compiles: false,
    reason: "has a server of each run-time; tests/browser/dashboard.spec.ts opens those of Deno and Bun",
  },
  {
    file: "docs/diagnostics.md",
    has: "requireAdmin",
    runsIn: [],
    compiles: false,
    reason: "a part of an Express server; tests/dashboard/recipes_test.ts runs the same",
  },
];

const root = fileURLToPath(new URL("..", import.meta.url));
const exported = (JSON.parse(read("deno.json")) as { exports: Record<string, string> }).exports;
/** Inside the tree, so that npm packages are found; every process has its own. */
const folder = `${root}.docs/${runtime}-${process.pid}`;

const HOOK = "printedByDocs";
const prints = new Map<string, Print[]>();
Object.assign(globalThis, {
  [HOOK]: (name: string, line: number, ...what: unknown[]) => prints.get(name)?.push([line, format(...what)]),
});

const snippets = documents().flatMap((file) => snippetsOf(file, read(file))).filter(runs);

/** Node 20 and Bun have no `navigator.locks`. */
const runsHere = (snippet: Snippet) =>
  !snippet.code.includes("@interlock/interlock/web") ||
  (globalThis.navigator as { locks?: unknown })?.locks !== undefined;

for (const snippet of snippets.filter(runsHere)) {
  const exception = EXCEPTIONS.find((one) => isAbout(one, snippet));
  if (exception === undefined || exception.runsIn.includes(runtime)) test(snippet.name, () => run(snippet));
}

test("every exception is about one snippet, and says why", () => {
  for (const one of EXCEPTIONS) {
    assert.equal(snippets.filter((snippet) => isAbout(one, snippet)).length, 1, `${one.file} with ${one.has}`);
    assert.ok(one.reason.length > 20);
  }
});

test("every @example is among them", () => {
  const examples = documents().filter((file) => file.endsWith(".ts"))
    .flatMap((file) => [...read(file).matchAll(/^ *\* @example/gm)].map(() => file));
  assert.ok(examples.length > 0);
  for (const file of new Set(examples)) {
    const found = snippets.filter((snippet) => snippet.file === file).length;
    const expected = examples.filter((one) => one === file).length;
    assert.ok(found >= expected, `${file} has ${expected} @example, ${found} of them with code`);
  }
});

test("the README and the site list every page of the guide", () => {
  const files = documents().filter((file) => file.startsWith("docs/") && file !== "docs/index.md").sort();
  assert.deepEqual([...guide, ...migrating, ...background].map(([, page]) => `docs/${page}.md`).sort(), files);
  const links = (file: string) => [...read(file).matchAll(/\]\(([\w/-]+\.md)/g)].map(([, link]) => link!);
  const listed = new Set([...links("README.md"), ...links("docs/migrating.md").map((link) => `docs/${link}`)]);
  for (const file of files) assert.ok(listed.has(file), file);
});

test("the first code of a page fits into the columns that a first screen shows", () => {
  for (const file of documents().filter((file) => file.endsWith(".md"))) {
    const [, code = ""] = /^```\w*\n([^]*?)^```/m.exec(read(file)) ?? [];
    for (const line of code.split("\n")) assert.ok(line.length <= 73, `${file}: ${line}`);
  }
});

test("the index of names has each public name once, and no other", () => {
  const page = read("docs/reference.md");
  assert.match(page, /extend `SyncError`/); // the base class has no item
  const items = page.split(/^- (?=\[?`\w+`)/m).slice(1).map((item) => item.split("\n\n")[0]!);
  const cells = items.flatMap((item) => [/^\S+/.exec(item)![0], ...item.split(/ Types?:/).slice(1)]);
  const names = ["SyncError", ...cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name!))];
  assert.deepEqual(
    names.sort(),
    [...publicNames].sort(),
    `the lists of docs/reference.md lack: ${
      [...publicNames].filter((name) => !names.includes(name))
    }; have no such public ` +
      `name, or have it twice: ${names.filter((name, i) => ![...publicNames].includes(name) || names[i - 1] === name)}`,
  );
});

if (deeply(false, runtime === "deno")) {
  test("the examples type-check", () => {
    const compiles = (snippet: Snippet) => EXCEPTIONS.find((one) => isAbout(one, snippet))?.compiles ?? true;
    const files = snippets.filter(compiles).map((snippet) => write(snippet, "types", mapped(snippet, resolve)));
    try {
      const { status, stderr } = spawnSync(process.execPath, ["check", "--quiet", ...files], {
        cwd: root,
        encoding: "utf8",
        env: { ...process.env, NO_COLOR: "1" },
      });
      assert.equal(status, 0, stderr);
    } finally {
      remove(files);
    }
  });
}

async function run(snippet: Snippet): Promise<void> {
  const printed: Print[] = [];
  prints.set(snippet.name, printed);
  const file = write(snippet, "run", instrumented(snippet.name, mapped(snippet, resolve), HOOK));
  try {
    await import(pathToFileURL(file).href);
    assert.deepEqual(brokenPromises(snippet, printed), []);
  } finally {
    remove([file]);
  }
}

function write(snippet: Snippet, kind: string, code: string): string {
  const file = `${folder}/${kind}_${snippet.name.replaceAll(/[^a-z0-9]+/gi, "_")}.ts`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, code);
  return file;
}

function remove(files: readonly string[]): void {
  for (const file of files) rmSync(file);
  if (readdirSync(folder).length === 0) rmdirSync(folder);
}

/** The file of this tree that a user's import leads to. */
function resolve(specifier: string): string {
  const target = exported[`.${specifier.slice("@interlock/interlock".length)}`];
  assert.ok(target !== undefined, `${specifier} is not exported`);
  return new URL(`../${target}`, import.meta.url).href;
}

function documents(): string[] {
  const inside = (folder: string, end: string) =>
    (existsSync(root + folder) ? readdirSync(root + folder, { recursive: true, encoding: "utf8" }) : [])
      .filter((file) => file.endsWith(end)).sort().map((file) => `${folder}/${file.replaceAll("\\", "/")}`);
  return [
    "mod.ts",
    ...inside("lib", ".ts"),
    "README.md",
    "CHANGELOG.md",
    ...inside("docs", ".md").filter((file) => !file.startsWith("docs/reference/")),
  ];
}

function isAbout(exception: Exception, snippet: Snippet): boolean {
  return snippet.file === exception.file && snippet.code.includes(exception.has);
}

function read(file: string): string {
  return readFileSync(root + file, "utf8");
}
