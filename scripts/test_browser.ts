/**
 * `deno task test:browser`: the tests of the local part in a real browser, against the built package, bundled by
 * esbuild. Files that need a machine, because they import more of node: than its assert, stay outside and are named.
 */
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { build, type BuildFailure, type Plugin, stop } from "esbuild";
import type { Browser } from "playwright-core";
import { launch } from "./_chromium.ts";

/** That these can be imported is tested; a browser's Response differs in corners that only a server meets. */
const FOR_SERVERS = /^graceful_shutdown/;

/** The source is replaced by the package, and Node's modules by stand-ins. */
const stand: Plugin = {
  name: "stand in",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(\.\.\/)+(mod|lib\/.*)\.ts$/ }, ({ path }) => ({
      path: resolve("npm", path.replace(/^(\.\.\/)+/, "").replace(/ts$/, "js")),
    }));
    onResolve({ filter: /^node:test$/ }, () => ({ path: resolve("tests/browser/_node_test.js") }));
    onResolve({ filter: /^node:(process|assert\/strict)$/ }, ({ path }) => ({ path, namespace: "stand-in" }));
    onLoad({ filter: /process/, namespace: "stand-in" }, () => ({
      contents: "export const env = {}; export default { env, on() {}, off() {} };", // nothing warns there
    }));
    onLoad({ filter: /assert/, namespace: "stand-in" }, () => ({
      contents: `import assert from "assert/build/assert.js"; export default assert.strict;`,
      resolveDir: ".",
    }));
  },
};

/** The file and all of its imports, unless one of them needs a machine. */
async function bundle(file: string): Promise<string | undefined> {
  try {
    return await bundleAll(file);
  } catch (error) {
    const { errors } = error as BuildFailure;
    if (!errors?.every(({ notes }) => notes.some(({ text }) => text.includes("is built into node")))) throw error;
    return undefined;
  }
}

async function bundleAll(file: string): Promise<string> {
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
    logLevel: "silent",
    define: { "process.env": "{}", "process.stderr": "undefined", global: "globalThis" },
    plugins: [stand],
  });
  return `${outputFiles[0]!.text}\n//# sourceURL=${file}`; // the name that stacks show
}

interface Outcome {
  passed: number;
  failures: string[];
}

/** One page for each file, so that no file sees another one's changes to timers and clocks. */
async function runScript(browser: Browser, content: string): Promise<Outcome> {
  const page = await browser.newPage();
  const unhandled: string[] = [];
  page.on("pageerror", (error) => unhandled.push(String(error.stack ?? error)));
  await page.addScriptTag({ content, type: "module" });
  await page.waitForFunction("'outcome' in globalThis");
  const { passed, failures } = await page.evaluate<Outcome>("outcome");
  await page.close();
  return { passed, failures: [...failures, ...unhandled] };
}

const sum = { passed: 0, failed: 0 };
const browser = await launch();
console.log(`Chromium ${browser.version()}`);
try {
  for (const file of [...readdirSync("tests").filter((file) => /[a-z]_test\.ts$/.test(file)), "browser/harmless.ts"]) {
    const script = FOR_SERVERS.test(file) ? undefined : await bundle(file);
    if (script === undefined) {
      console.log(`${file}: not for a browser`);
      continue;
    }
    const { passed, failures } = await runScript(browser, script);
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
