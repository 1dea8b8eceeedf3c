/** docs/run-times.md names the versions that the tests run on: from the same lists as the scripts. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { BUN, NODES } from "../scripts/_node.ts";
import { test } from "./_test.ts";

function read(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), "utf8");
}

/** The item of the page that begins so. */
function item(where: string): string {
  const found = read("docs/run-times.md").split(/\n(?=- |\n)/).find((item) => item.startsWith(`- **${where}`));
  assert.ok(found !== undefined, `no item for ${where}`);
  return found;
}

function minor(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}

test("docs/run-times.md: the versions are those that the scripts run", () => {
  assert.ok(item("Deno").includes(read(".dvmrc").trim()));
  assert.ok(item("Bun").includes(BUN));
  for (const version of Object.values(NODES)) assert.ok(item("Node").includes(minor(version)), `Node ${version}`);
  const typescripts = /TYPESCRIPTS = \[(.*)\]/.exec(read("scripts/check_npm.ts"))![1]!.match(/[\d.]+/g)!;
  assert.ok(item("TypeScript").includes(`${minor(typescripts[0]!)} to ${minor(typescripts.at(-1)!)}`));
});

test("docs/run-times.md: the versions of the packages are those of the long tests", () => {
  const { dependencies } = JSON.parse(read("tests/long/surroundings/package.json"));
  assert.ok(item("Jest").includes(`Jest ${/\d+/.exec(dependencies.jest)}`));
  for (
    const [name, where] of [["zone.js", "zone.js"], ["bluebird", "zone.js"], ["esbuild", "Code minified"]] as const
  ) {
    assert.ok(item(where).includes(`${minor(dependencies[name])}`), name);
  }
  assert.ok(item("Jest").includes(`Vitest ${/\d+/.exec(dependencies.vitest)}`));
  assert.match(dependencies.miniflare, /^4\.202604/);
  assert.match(item("Cloudflare Workers"), /April 2026/);
});
