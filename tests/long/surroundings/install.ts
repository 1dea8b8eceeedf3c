/** Installs the packages of this folder, once; they are too heavy for everyday use. */
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The folder of the package.json, with a slash at its end. */
export const folder: string = fileURLToPath(new URL(".", import.meta.url));

const MARK = "node_modules/.package-lock.json";

/** Whether they were installed after their list was changed last. */
function isInstalled(): boolean {
  return existsSync(folder + MARK) && statSync(folder + MARK).mtimeMs > statSync(`${folder}package.json`).mtimeMs;
}

/** Installs them unless that was done before. */
export function install(): void {
  if (isInstalled()) return;
  const npm = ["install", "--no-package-lock", "--no-audit", "--no-fund"];
  const { status } = spawnSync("npm", npm, { cwd: folder, stdio: ["ignore", "inherit", "inherit"] });
  if (status !== 0) throw new Error(`Cannot install the packages of ${folder}: npm ended with ${status}`);
}

/** Throws unless `deno task setup --long` has installed them. */
export function assertInstalled(): void {
  if (!isInstalled()) throw new Error("Cannot test surroundings: run `deno task setup --long` first");
}
