/**
 * Copies of examples/frameworks that find the packages of tests/long/frameworks/package.json, which the everyday set-up does
 * not install: a folder for each clone, as the copies lead to its module.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

const LIMIT = 300_000;

let folder: string | undefined;

/** The folder; installed within five minutes. */
export function installed(): string {
  if (folder !== undefined) return folder;
  const clone = createHash("sha256").update(process.cwd()).digest("hex").slice(0, 8);
  const made = join(tmpdir(), `interlock-frameworks-${clone}`);
  mkdirSync(made, { recursive: true });
  copyFileSync("tests/long/frameworks/package.json", join(made, "package.json"));
  for (const name of readdirSync("examples/frameworks")) {
    const text = readFileSync(join("examples/frameworks", name), "utf8");
    writeFileSync(join(made, name), text.replace('"../../mod.ts"', JSON.stringify(pathToFileURL("mod.ts").href)));
  }
  const npm = ["install", "--no-audit", "--no-fund", "--no-package-lock", "--silent"];
  const end = Date.now() + LIMIT;
  for (let attempt = 1;; attempt++) { // a registry fails now and then
    const timeout = Math.max(1000, end - Date.now());
    const { status, stderr } = spawnSync("npm", npm, { cwd: made, encoding: "utf8", timeout });
    if (status === 0) return folder = made;
    if (attempt === 3) throw new Error(`Cannot install the frameworks within ${LIMIT / 1000} s: ${stderr}`);
  }
}

/** The folder of an app that has to be built. */
export function built(name: "next" | "sveltekit"): string {
  const made = join(installed(), `${name}-app`);
  cpSync(`tests/long/frameworks/${name}`, made, { recursive: true });
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
