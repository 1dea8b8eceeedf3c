/**
 * The first part of `deno task npm`: makes the npm package in npm/ out of the same sources, in two forms. Bundlers get the
 * modules file by file, so that they drop what is not imported; run-times get each entry as one file with a chunk that
 * entries share, as an ES module and as CommonJS.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { transformSync } from "esbuild";
import { type OutputPlugin, rollup } from "rollup";
import { entries } from "./_entries.ts";

const KEYWORDS = "lock mutex keyed-mutex semaphore rwlock condition barrier queue pool concurrency rate-limiter " +
  "distributed-lock redis redlock graceful-shutdown asyncio";
const OUT = "npm";
const REPOSITORY = "https://github.com/interlock/interlock";
const { name, version, license } = JSON.parse(readFileSync("deno.json", "utf8"));

/** What users' settings need not name; TypeScript has these since 5.2. */
const LIBS = {
  "esnext.disposable": /\bDisposable\b|AsyncDisposable|asyncDispose/,
  "es2020.promise": /PromiseSettledResult/,
};

/**
 * tsc rewrites imports in JavaScript, but not in declarations: this does. And they name the lib that they need. The copies
 * for `require` differ in their names alone, by which TypeScript knows them for CommonJS.
 */
function rewriteDeclarations(): void {
  for (const file of readdirSync(OUT, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".d.ts")) continue;
    // Before TypeScript 5.6, iterators that can be iterated have one type parameter.
    const text = readFileSync(`${OUT}/${file}`, "utf8")
      .replace(/\b(Async|)IterableIterator<(\w+), undefined>/g, "$1Iterator<$2, undefined> & $1IterableIterator<$2>");
    const lib = Object.entries(LIBS)
      .filter(([, names]) => names.test(text))
      .map(([lib]) => `/// <reference lib="${lib}" />\n`)
      .join("");
    const importing = (extension: string) =>
      lib + text.replace(/((?:from |import\()"\.[^"]*)\.ts"/g, `$1.${extension}"`);
    writeFileSync(`${OUT}/${file}`, importing("js"));
    writeFileSync(`${OUT}/${file.replace(/ts$/, "cts")}`, importing("cjs"));
  }
}

/** The name of an entry. */
const nameOf = (entry: string) => entry === "." ? "main" : entry.slice(2);
const js = (file: string) => `./${file.replace(/\.ts$/, ".js")}`;
const types = (file: string, extension: string) => `./${file.replace(/\.ts$/, `.d.${extension}`)}`;

/** Writes dist/: a file for each entry, and "shared" files for what several of them use. */
async function bundle(): Promise<void> {
  const input = Object.fromEntries(entries.map(([entry, file]) => [nameOf(entry), `${OUT}/${js(file)}`]));
  const onLog = (level: string, { message }: { message: string }) => {
    if (level === "warn") throw new Error(`Cannot bundle: ${message}`);
  };
  const bundled = await rollup({ input, onLog });
  /** Comments would be two thirds of what a run-time reads: they are in the declarations. */
  const withoutComments: OutputPlugin = {
    name: "without comments",
    renderChunk: (code) => transformSync(code, { target: "es2022", legalComments: "none" }),
  };
  for (const [format, extension] of [["es", "js"], ["cjs", "cjs"]] as const) {
    await bundled.write({
      dir: `${OUT}/dist`,
      format,
      entryFileNames: `interlock-[name].${extension}`,
      chunkFileNames: `interlock-shared.${extension}`,
      experimentalMinChunkSize: 12_000, // two chunks in place of seven: each file takes time to load
      plugins: [withoutComments],
    });
  }
}

function manifest(): object {
  const exports = entries.map(([entry, file]) => {
    const module = { types: types(file, "ts"), default: `./dist/interlock-${nameOf(entry)}.js` };
    return [entry, {
      module: { ...module, default: js(file) },
      "module-sync": module,
      bun: module,
      import: module,
      require: { types: types(file, "cts"), default: `./dist/interlock-${nameOf(entry)}.cjs` },
      default: module,
    }];
  });
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
    ...legacy(".", "mod.ts", "."),
    exports: { ...Object.fromEntries(exports), "./package.json": "./package.json" },
    files: ["mod.*", "lib", "dist", ...entries.slice(1).map(([entry]) => nameOf(entry))],
  };
}

/** For what does not know `exports`, such as moduleResolution node10 and Jest before 28: it finds entries in folders. */
function legacy(entry: string, file: string, root: string): object {
  const from = (path: string) => path.replace(/^\./, root);
  return {
    main: from(`./dist/interlock-${nameOf(entry)}.cjs`),
    module: from(js(file)),
    types: from(types(file, "ts")),
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
execFileSync(Deno.execPath(), ["run", "-A", "npm:typescript/tsc", "-p", "scripts/tsconfig.npm.json"], {
  stdio: ["ignore", "inherit", "inherit"],
});
rewriteDeclarations();
await bundle();
for (const [entry, file] of entries.slice(1)) {
  mkdirSync(`${OUT}/${nameOf(entry)}`);
  writeFileSync(`${OUT}/${nameOf(entry)}/package.json`, JSON.stringify(legacy(entry, file, "..")));
}
copyFileSync("LICENSE", `${OUT}/LICENSE`);
for (const file of ["README.md", "CHANGELOG.md"]) {
  writeFileSync(`${OUT}/${file}`, withAbsoluteLinks(readFileSync(file, "utf8")));
}
writeFileSync(`${OUT}/package.json`, JSON.stringify(manifest(), null, 2) + "\n");
console.log(`${name} ${version} is in ${OUT}/`);
