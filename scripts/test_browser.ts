/**
 * `deno task test:browser`: the tests of the local part in a real browser, against the built package. Files that need
 * a machine (they import more of node: than its assert) stay outside; everything else is bundled by esbuild.
 */
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { build, type Plugin, stop } from "esbuild";
import type { Browser } from "playwright-core";
import { launch } from "./_chromium.ts";

const NEEDS_A_MACHINE = /from "(node:(?!assert)|\.\.\/scripts\/|esbuild|\.\/_snippets)/;

/** The source is replaced by the package, and Node's modules by what stands for them. */
const stand: Plugin = {
  name: "stand in",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(\.\.\/)+(mod|lib\/.*)\.ts$/ }, ({ path }) => ({
      path: resolve("npm", path.replace(/^(\.\.\/)+/, "").replace(/ts$/, "js")),
    }));
    onResolve({ filter: /^node:test$/ }, () => ({ path: resolve("tests/browser/_node_test.js") }));
    onResolve({ filter: /^node:(process|assert\/strict)$/ }, ({ path }) => ({ path, namespace: "stand-in" }));
    onLoad({ filter: /process/, namespace: "stand-in" }, () => ({ contents: "export const env = {};" }));
    onLoad({ filter: /assert/, namespace: "stand-in" }, () => ({
      contents: `import assert from "assert/build/assert.js"; export default assert.strict;`,
      resolveDir: ".",
    }));
  },
};

async function bundle(file: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: `import "./tests/${file}"; import { run } from "node:test"; globalThis.outcome = run();`,
      resolveDir: ".",
    },
    bundle: true,
    format: "esm",
    target: "chrome120",
    keepNames: true,
    write: false,
    logLevel: "error",
    define: { "process.env": "{}", "process.stderr": "undefined", global: "globalThis" },
    plugins: [stand],
  });
  return `${outputFiles[0]!.text}\n//# sourceURL=${file}`; // the name that stacks show
}

interface Outcome {
  passed: number;
  failures: string[];
}

/** One page for each file: what a file does to timers and clocks stays its own. */
async function runFile(browser: Browser, file: string): Promise<Outcome> {
  const page = await browser.newPage();
  const unhandled: string[] = [];
  page.on("pageerror", (error) => unhandled.push(String(error.stack ?? error)));
  await page.addScriptTag({ content: await bundle(file), type: "module" });
  await page.waitForFunction("'outcome' in globalThis");
  const { passed, failures } = await page.evaluate<Outcome>("outcome");
  await page.close();
  return { passed, failures: [...failures, ...unhandled] };
}

function isLocal(file: string): boolean {
  return file.endsWith("_test.ts") && file !== "_test.ts" &&
    !NEEDS_A_MACHINE.test(readFileSync(`tests/${file}`, "utf8"));
}

const sum = { passed: 0, failed: 0 };
const browser = await launch();
console.log(`Chromium ${browser.version()}`);
try {
  for (const file of [...readdirSync("tests").filter(isLocal), "browser/harmless.ts"]) {
    const { passed, failures } = await runFile(browser, file);
    console.log(`${file}: ${passed} passed, ${failures.length} failed`);
    for (const failure of failures) console.log(`FAILED ${failure}\n`);
    sum.passed += passed;
    sum.failed += failures.length + (passed === 0 && failures.length === 0 ? 1 : 0); // a file without a test
  }
} finally {
  await browser.close();
  await stop();
}
console.log(`${sum.passed} passed, ${sum.failed} failed`);
process.exitCode = sum.failed === 0 ? 0 : 1;
