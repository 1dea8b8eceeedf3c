/** `deno task playground`: bundles the module and the page that plays with it into docs/playground/page.js. */
import { build, stop } from "esbuild";

await build({
  entryPoints: ["docs/playground/page.ts"],
  outfile: "docs/playground/page.js",
  bundle: true,
  minify: true,
  format: "iife", // so that it works from a file, too
  target: "es2022",
  logLevel: "error",
});
await stop();
console.log("Open docs/playground/index.html in a browser.");
