/**
 * The first part of `deno task npm`: makes the npm package in npm/ out of the same sources: ES modules and declarations file by file,
 * by tsc. Nothing is bundled, so that a bundler of its user drops what is not imported.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { entries } from "./_entries.ts";

const KEYWORDS = "lock mutex keyed-mutex semaphore rwlock condition barrier queue pool concurrency rate-limiter " +
  "distributed-lock redis redlock graceful-shutdown asyncio";
const OUT = "npm";
const REPOSITORY = "https://github.com/interlock/interlock";
const { name, version, license } = JSON.parse(readFileSync("deno.json", "utf8"));

function compile(): void {
  execFileSync(Deno.execPath(), ["run", "-A", "npm:typescript/tsc", "-p", "scripts/tsconfig.npm.json"], {
    stdio: ["ignore", "inherit", "inherit"],
  });
}

/** tsc rewrites imports in JavaScript, but not in declarations: this does. And they name the lib that they need. */
function rewriteDeclarations(): void {
  for (const file of readdirSync(OUT, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".d.ts")) continue;
    const text = readFileSync(`${OUT}/${file}`, "utf8").replace(/((?:from |import\()"\.[^"]*)\.ts"/g, '$1.js"');
    // TypeScript has these types since 5.2, in a lib that users' settings need not name.
    const lib = /\bDisposable\b|AsyncDisposable|asyncDispose/.test(text)
      ? '/// <reference lib="esnext.disposable" />\n'
      : "";
    writeFileSync(`${OUT}/${file}`, lib + text);
  }
}

function manifest(): object {
  const js = (file: string) => `./${file.replace(/\.ts$/, ".js")}`;
  const types = (file: string) => `./${file.replace(/\.ts$/, ".d.ts")}`;
  const exports = entries.map(([path, file]) => [path, { types: types(file), default: js(file) }]);
  // For moduleResolution node10, which does not know `exports`.
  const typesVersions = entries.filter(([path]) => path !== ".").map(([path, file]) => [path.slice(2), [types(file)]]);
  return {
    name,
    version,
    description: "Locks, limits, queues and Redis locks for Deno, Node and Bun, with asyncio's semantics",
    keywords: KEYWORDS.split(" "),
    license,
    homepage: `${REPOSITORY}#readme`,
    repository: { type: "git", url: `git+${REPOSITORY}.git` },
    bugs: `${REPOSITORY}/issues`,
    type: "module",
    sideEffects: false,
    engines: { node: ">=20.4" },
    main: "./mod.js",
    types: "./mod.d.ts",
    typesVersions: { "*": Object.fromEntries(typesVersions) },
    exports: { ...Object.fromEntries(exports), "./package.json": "./package.json" },
    files: ["mod.*", "lib"],
  };
}

/** Links of a Markdown file into the repository, which the package does not contain. */
function withAbsoluteLinks(markdown: string): string {
  return markdown
    .replace(/(\]\()(?![a-z]+:|#)([^)\s]+)(\))/g, `$1${REPOSITORY}/blob/main/$2$3`)
    .replace(/((?:src|srcset)=")(?![a-z]+:)([^"]+)"/g, `$1${REPOSITORY}/raw/main/$2"`)
    .replace(/(!\[[^\]]*\]\([^)]*)\/blob\//g, "$1/raw/");
}

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT);
compile();
rewriteDeclarations();
copyFileSync("LICENSE", `${OUT}/LICENSE`);
for (const file of ["README.md", "CHANGELOG.md"]) {
  writeFileSync(`${OUT}/${file}`, withAbsoluteLinks(readFileSync(file, "utf8")));
}
writeFileSync(`${OUT}/package.json`, JSON.stringify(manifest(), null, 2) + "\n");
console.log(`${name} ${version} is in ${OUT}/`);
