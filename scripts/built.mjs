/**
 * `node --import ./scripts/built.mjs` and `bun --preload ./scripts/built.mjs`: the tests, which import the source, get the
 * built package in npm/ instead. A source that is loaded all the same is an error, so a test cannot pass by accident.
 */
import { existsSync } from "node:fs";
import * as module from "node:module";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The path of the built file for the path of a source, if it is one. */
function builtFor(path) {
  const file = path.startsWith(root) ? path.slice(root.length).split("\\").join("/") : "";
  if (!/^(mod|lib\/.*)\.ts$/.test(file)) return undefined;
  const built = `${root}npm/${file.replace(/ts$/, "js")}`;
  if (!existsSync(built)) throw new Error(`Cannot test the package: ${built} is not in it`);
  return built;
}

export function resolve(specifier, context, nextResolve) {
  const resolved = nextResolve(specifier, context);
  const map = (found) => {
    const built = found.url.startsWith("file:") ? builtFor(fileURLToPath(found.url)) : undefined;
    return built === undefined ? found : { url: pathToFileURL(built).href, format: "module", shortCircuit: true };
  };
  // In a thread of their own, hooks are asynchronous.
  return resolved instanceof Promise ? resolved.then(map) : map(resolved);
}

function inBun() {
  const sources = new RegExp(`^${root.replace(/[^\w/]/g, "\\$&")}(mod|lib/.*)\\.ts$`);
  Bun.plugin({
    name: "built",
    setup(build) {
      build.onLoad({ filter: sources }, ({ path }) => ({
        contents: `export * from ${JSON.stringify(builtFor(path))}`,
        loader: "js",
      }));
    },
  });
}

if (process.versions.bun) inBun();
else if (module.registerHooks) module.registerHooks({ resolve });
else if (!import.meta.url.endsWith("?hooks")) module.register(`${import.meta.url}?hooks`);
