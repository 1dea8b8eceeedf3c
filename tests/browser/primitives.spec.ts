/**
 * The tests of the local part, against the built package, bundled by esbuild. Files that need a machine, because they
 * import more of node: than its assert, stay outside.
 */
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { expect } from "@playwright/test";
import { build, type BuildFailure, type Plugin } from "esbuild";
import { test } from "./_page.ts";

/** That these can be imported is tested; a browser's Response differs in corners that only a server meets. */
const FOR_SERVERS = /^graceful_shutdown/;
const FILES = [...readdirSync("tests").filter((file) => /[a-z]_test\.ts$/.test(file)), "browser/harmless.ts"];

/** The source is replaced by the package, and Node's modules and the runner by stand-ins. */
const stand: Plugin = {
  name: "stand in",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(\.\.\/)+(mod|lib\/.*)\.ts$/ }, ({ path }) => ({
      path: resolve("npm", path.replace(/^(\.\.\/)+/, "").replace(/ts$/, "js")),
    }));
    onResolve({ filter: /\/_test\.ts$/ }, () => ({ path: resolve("tests/browser/_test.js") }));
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
  const contents = `import "./tests/${file}"; import { run } from "./tests/_test.ts"; globalThis.outcome = run();`;
  try {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: "." },
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
  } catch (error) {
    const { errors } = error as BuildFailure;
    if (!errors?.every(({ notes }) => notes.some(({ text }) => text.includes("is built into node")))) throw error;
    return undefined;
  }
}

// One page for each file, so that no file sees another one's changes to timers and clocks.
for (const file of FILES.filter((file) => !FOR_SERVERS.test(file))) {
  test(file, async ({ page }) => {
    test.setTimeout(300_000);
    const content = await bundle(file);
    test.skip(content === undefined, "not for a browser");
    await page.addScriptTag({ content: content!, type: "module" });
    await page.waitForFunction("'outcome' in globalThis", undefined, { timeout: 300_000 });
    const { passed, failures } = await page.evaluate<{ passed: number; failures: string[] }>("outcome");
    expect(failures).toEqual([]);
    expect(passed).toBeGreaterThan(0);
  });
}

test("no stand-in is missing", async () => {
  expect(await bundle("lock_test.ts")).toBeDefined();
});
