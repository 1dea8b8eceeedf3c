/**
 * Run by scripts/check_npm.ts where the packed package is installed, in each run-time: `import` and `require` give one
 * instance, each entry is one file with a few chunks, and classes have their names. With "--two-copies", in a Node that
 * cannot `require` ES modules: two copies, and errors that say so.
 */
const assert = require("node:assert/strict");
const { readdirSync } = require("node:fs");
const { dirname } = require("node:path");

const NAME = "@interlock/interlock";
const ENTRIES = ["", "/redis", "/web", "/diagnostics", "/dashboard"];
const isOneCopy = !process.argv.includes("--two-copies");

/** Modules of Node that a first `require` loads cost every process, needed or not. */
function noneLoaded() {
  const before = new Set(process.moduleLoadList);
  for (const entry of ENTRIES) require(NAME + entry);
  const loaded = process.moduleLoadList?.filter((name) => !before.has(name) && !/ internal\/modules/.test(name)) ?? [];
  assert.deepEqual(loaded, [], "loaded by the package");
}

async function main() {
  noneLoaded();
  const all = {};
  for (const entry of ENTRIES) {
    const required = require(NAME + entry);
    const { default: _, "module.exports": __, ...imported } = await import(NAME + entry);
    assert.deepEqual(
      Object.keys(imported).sort(),
      Object.keys(required).filter((name) => name !== "__esModule").sort(),
    );
    for (const [name, value] of Object.entries(imported)) {
      assert.equal(value === required[name], isOneCopy, `${name} of ${NAME}${entry}`);
      assert.equal(value.name, name);
      assert.equal(all[name] ??= value, value, `${name} is one, whatever entry it comes from`);
    }
  }
  const { Lock, Pool, RateLimiter, acquireAll } = require(NAME);
  let grants = 0;
  using_(require(`${NAME}/diagnostics`).observe({ grant: () => grants++ }));
  await new Lock().acquire();
  assert.equal(grants, 1, "./diagnostics hears of the main entry");
  if (!isOneCopy) {
    const other = await import(NAME);
    assert.throws(() => new Pool(1, { rate: new other.RateLimiter(1, 1) }), /there are two copies/);
    await assert.rejects(acquireAll([new other.Lock()]), /there are two copies/);
    await assert.rejects(other.acquireAll([new Lock()]), /there are two copies/);
    assert.ok(new RateLimiter(1, 1));
  }
  const folder = dirname(require.resolve(NAME));
  for (const extension of [".js", ".cjs"]) {
    assert.ok(readdirSync(folder).filter((file) => file.endsWith(extension)).length <= ENTRIES.length + 2);
  }
}

/** What `using` does at the end of the process. */
function using_(disposable) {
  process.on("exit", () => disposable[Symbol.dispose ?? Symbol.for("Symbol.dispose")]());
}

main().then(() => console.log("fine"), (error) => {
  console.error(error);
  process.exitCode = 1;
});
