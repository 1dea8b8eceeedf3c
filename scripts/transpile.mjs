/**
 * `node --import ./scripts/transpile.mjs`: `.ts` files that this Node cannot run go through esbuild as they are
 * loaded. That is everything on a Node that strips no types, and files with decorators on one that does; types are then
 * stripped by Node itself, so that running the source unbuilt is really tested. tsx would transpile there, too.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as module from "node:module";
import { fileURLToPath } from "node:url";

/** What was transpiled before, by its source: starting esbuild takes longer than most test files. */
const cache = fileURLToPath(new URL("../node_modules/.interlock/", import.meta.url));
const require = createRequire(import.meta.url);

/** Whether this Node runs the files as they are: types, and `using`, which 22 does not know yet. */
const stripsTypes = Number.parseInt(process.versions.node) >= 24;
const DECORATOR = /^\s*@[a-z]\w*.*[^*]$/im; // also in a comment without asterisks: then it takes the way round for nothing

export function load(url, context, nextLoad) {
  // A query makes a copy of its own of the same file.
  if (!url.startsWith("file:") || !new URL(url).pathname.endsWith(".ts")) return nextLoad(url, context);
  const file = fileURLToPath(url);
  const source = readFileSync(file, "utf8");
  if (stripsTypes && !DECORATOR.test(source)) return nextLoad(url, context);
  return { format: "module", source: transpiled(source, file), shortCircuit: true };
}

function transpiled(source, file) {
  const key = createHash("sha256").update(`${process.version} ${file}\n${source}`).digest("hex");
  try {
    return readFileSync(cache + key, "utf8");
  } catch {
    // Not transpiled yet.
  }
  const { code } = require("esbuild").transformSync(source, {
    loader: "ts",
    format: "esm",
    target: `node${process.versions.node}`,
    sourcefile: file,
    sourcemap: "inline",
    keepNames: true, // a function or class keeps its name, which lockOnArguments goes by
  });
  mkdirSync(cache, { recursive: true });
  writeFileSync(`${cache}${key}.${process.pid}`, code);
  renameSync(`${cache}${key}.${process.pid}`, cache + key); // another process never reads half of it
  return code;
}

// Where hooks run in a thread of their own, this file is loaded a second time, there.
if (module.registerHooks) module.registerHooks({ load });
else if (!import.meta.url.endsWith("?hooks")) module.register(`${import.meta.url}?hooks`);
