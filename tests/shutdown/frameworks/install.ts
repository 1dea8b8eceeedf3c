/**
 * Copies of examples/frameworks that find the packages of tests/long/frameworks/package.json, which the everyday set-up does
 * not install: a folder for each clone, as the copies lead to its module.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

const LIMIT = 300_000; // ms
const clone = createHash("sha256").update(process.cwd()).digest("hex").slice(0, 8);
const folder = join(tmpdir(), `interlock-frameworks-${clone}`);

/** The folder, with the servers as they are now. Throws unless `deno task setup --long` has installed the packages. */
export function installed(): string {
  const list = readFileSync("tests/long/frameworks/package.json", "utf8");
  const mark = join(folder, "installed.json");
  if (!existsSync(mark) || readFileSync(mark, "utf8") !== list) {
    throw new Error("Cannot test frameworks: run `deno task setup --long` first");
  }
  for (const name of readdirSync("examples/frameworks")) {
    const text = readFileSync(join("examples/frameworks", name), "utf8");
    writeFileSync(join(folder, name), text.replace('"../../mod.ts"', JSON.stringify(pathToFileURL("mod.ts").href)));
  }
  return folder;
}

/** Installs the packages, within five minutes. */
export function install(): void {
  mkdirSync(folder, { recursive: true });
  copyFileSync("tests/long/frameworks/package.json", join(folder, "package.json"));
  const npm = ["install", "--no-audit", "--no-fund", "--no-package-lock", "--silent"];
  const { status, stderr } = spawnSync("npm", npm, { cwd: folder, encoding: "utf8", timeout: LIMIT });
  if (status !== 0) throw new Error(`Cannot install the frameworks within ${LIMIT / 1000} s: ${stderr}`);
  copyFileSync("tests/long/frameworks/package.json", join(folder, "installed.json"));
}

/** The folder of an app, as a copy beside the packages. */
export function copied(name: "next" | "sveltekit"): string {
  const made = join(installed(), `${name}-app`);
  cpSync(`tests/long/frameworks/${name}`, made, { recursive: true });
  return made;
}

/** The same for an app that has to be built. */
export function built(name: "next" | "sveltekit"): string {
  const made = copied(name);
  const env = { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" };
  const program = join("..", "node_modules", ".bin", name === "next" ? "next" : "vite");
  const { status, stdout, stderr } = spawnSync(program, ["build"], {
    cwd: made,
    encoding: "utf8",
    timeout: LIMIT,
    env,
  });
  if (status !== 0) throw new Error(`Cannot build ${name}: ${stdout}${stderr}`);
  return name === "next" ? made : join(made, "build");
}
