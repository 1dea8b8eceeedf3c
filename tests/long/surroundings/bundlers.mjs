/**
 * Bundles a program over the package by webpack for Node, and by esbuild and by Rolldown, which is in tsdown and Vite, as
 * an ES module and as CommonJS, and runs each.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { build as rolldown } from "rolldown";
import webpack from "webpack";

const folder = mkdtempSync(join(import.meta.dirname, "node_modules/.bundled-"));
const entry = join(folder, "entry.mjs");
writeFileSync(
  entry,
  `import { Lock, SyncError } from "@interlock/interlock";
  import { observe, SyncError as same } from "@interlock/interlock/diagnostics";
  let grants = 0;
  observe({ grant: () => grants++ });
  new Lock().run(() => console.log(\`\${Lock.name} \${grants} \${same === SyncError}\`));`,
);

const bundlers = {
  webpack: (out) =>
    new Promise((resolve, reject) =>
      webpack(
        { mode: "production", target: "node", entry, output: { path: folder, filename: out } },
        (error, stats) => error || stats.hasErrors() ? reject(error ?? new Error(stats.toString())) : resolve(),
      )
    ),
  esm: (out) => build({ entryPoints: [entry], bundle: true, format: "esm", outfile: join(folder, out) }),
  cjs: (out) =>
    build({ entryPoints: [entry], bundle: true, format: "cjs", platform: "node", outfile: join(folder, out) }),
  "rolldown esm": (out) => rolldown({ input: entry, output: { file: join(folder, out), format: "esm" } }),
  "rolldown cjs": (out) =>
    rolldown({ input: entry, platform: "node", output: { file: join(folder, out), format: "cjs" } }),
};

const shown = {};
for (const [name, bundle] of Object.entries(bundlers)) {
  const out = `${name}.${name.endsWith("esm") ? "mjs" : "cjs"}`;
  await bundle(out);
  shown[name] = execFileSync(process.execPath, [join(folder, out)], { encoding: "utf8" }).trim();
}
rmSync(folder, { recursive: true });
console.log(JSON.stringify(shown));
