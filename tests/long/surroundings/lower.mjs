/** Lowers the built package to ES2019 by the compiler that is named, into a folder, and prints how it runs then. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { exercise } from "./exercise.mjs";

const [, , compiler, target] = process.argv;
const source = new URL("../../../npm/", import.meta.url).pathname;

const compilers = {
  typescript: async () => {
    const { default: ts } = await import("typescript");
    const compilerOptions = { target: ts.ScriptTarget.ES2019, module: ts.ModuleKind.ES2022 };
    return (code) => ts.transpileModule(code, { compilerOptions }).outputText;
  },
  babel: async () => {
    const { default: babel } = await import("@babel/core");
    const presets = [["@babel/preset-env", { targets: { node: "12" }, modules: false }]];
    return (code) => babel.transformSync(code, { presets, configFile: false, cwd: import.meta.dirname }).code;
  },
  esbuild: async () => {
    const { transformSync } = await import("esbuild");
    return (code) => transformSync(code, { target: "es2019", format: "esm" }).code;
  },
  swc: async () => {
    const { transformSync } = await import("@swc/core");
    return (code) => transformSync(code, { jsc: { target: "es2019" }, module: { type: "es6" } }).code;
  },
};

const lower = await compilers[compiler]();
for (const file of readdirSync(source, { recursive: true }).filter((file) => /^(mod|lib\b.*)\.js$/.test(file))) {
  mkdirSync(dirname(join(target, file)), { recursive: true });
  writeFileSync(join(target, file), lower(readFileSync(join(source, file), "utf8")));
}
writeFileSync(join(target, "package.json"), '{"type":"module"}');

const load = (file) => import(pathToFileURL(join(target, file)).href);
await Promise.all(["lib/redis/mod.js", "lib/web/mod.js", "lib/diagnostics/mod.js", "lib/dashboard/mod.js"].map(load));
console.log(JSON.stringify(await exercise(await load("mod.js"))));
