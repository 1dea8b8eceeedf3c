/** `deno task docs --playground`: bundles the module and the two pages that run it, docs/playground/{index,dashboard}.html. */
import { build, stop } from "esbuild";

const common = { bundle: true, minify: true, target: "es2022", logLevel: "error" } as const;
// A classic script works from a file, too.
await build({
  ...common,
  entryPoints: ["docs/playground/page.ts"],
  outfile: "docs/playground/page.js",
  format: "iife",
});
await build({
  ...common,
  entryPoints: ["docs/playground/dashboard.ts"],
  outfile: "docs/playground/dashboard.js",
  format: "esm",
});
await stop();
console.log("Open docs/playground/index.html in a browser.");
