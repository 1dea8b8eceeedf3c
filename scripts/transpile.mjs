/**
 * `node --import ./scripts/transpile.mjs`: `.ts` files that this Node cannot run go through esbuild as they are
 * loaded. That is everything on a Node that strips no types, and files with decorators on one that does; types are then
 * stripped by Node itself, so that running the source unbuilt is really tested.
 */
import { readFileSync } from "node:fs";
import * as module from "node:module";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";

/** Whether this Node runs the files as they are: types, and `using`, which 22 does not know yet. */
const stripsTypes = Boolean(process.features.typescript) && knowsUsing();
const DECORATOR = /^\s*@[a-z]\w*.*[^*]$/im; // also in a comment without asterisks: then it takes the way round for nothing

export function load(url, context, nextLoad) {
  // A query makes a copy of its own of the same file.
  if (!url.startsWith("file:") || !new URL(url).pathname.endsWith(".ts")) return nextLoad(url, context);
  const file = fileURLToPath(url);
  const source = readFileSync(file, "utf8");
  if (stripsTypes && !DECORATOR.test(source)) return nextLoad(url, context);
  const { code } = transformSync(source, {
    loader: "ts",
    format: "esm",
    target: `node${process.versions.node}`,
    sourcefile: file,
    sourcemap: "inline",
    keepNames: true, // a function or class keeps its name, which lockOnArguments goes by
  });
  return { format: "module", source: code, shortCircuit: true };
}

function knowsUsing() {
  try {
    return Boolean(new Function("{ using nothing = null; }"));
  } catch {
    return false;
  }
}

// Where hooks run in a thread of their own, this file is loaded a second time, there.
if (module.registerHooks) module.registerHooks({ load });
else if (!import.meta.url.endsWith("?hooks")) module.register(`${import.meta.url}?hooks`);
