/**
 * Where the run-times are. A run-time that is not on PATH, or too old there, comes from npm; a test never skips one.
 */
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { BUN, NODES, packageOfNode } from "../../scripts/_node.ts";

const run = promisify(execFile);

/** A run-time that servers are tested on. */
export type RuntimeName = "deno" | "node" | "bun";

/** The same, and the oldest Node. */
export type ProgramName = RuntimeName | "node20";

/** The major versions of each that have all that the servers use; "node" has to run TypeScript as it is. */
const FITS: Record<ProgramName, (major: number) => boolean> = {
  deno: (major) => major >= 2,
  node: (major) => major >= 24,
  node20: (major) => major === 20,
  bun: (major) => major >= 1,
};
/** Pinned, and the same packages as those of the scripts, which have fetched them. */
const FROM_NPM: Record<ProgramName, string> = {
  deno: "deno@2.9.6",
  node: packageOfNode(NODES["node"]!),
  node20: packageOfNode(NODES["node20"]!),
  bun: `bun@${BUN}`,
};
const COMMAND: Record<ProgramName, string> = { deno: "deno", node: "node", node20: "node", bun: "bun" };
const TRANSPILE = fileURLToPath(new URL("../../scripts/transpile.mjs", import.meta.url));

/** The run-time of this process. */
export const self: ProgramName = process.versions["deno"] !== undefined
  ? "deno"
  : process.versions["bun"] !== undefined
  ? "bun"
  : FITS.node(parseInt(process.versions.node))
  ? "node"
  : "node20";

const found = new Map<ProgramName, Promise<string>>();

/** The path of the run-time's program. */
export function program(name: ProgramName): Promise<string> {
  let path = found.get(name);
  if (path === undefined) found.set(name, path = find(name));
  return path;
}

/** The command that starts a TypeScript file in it. */
export async function startOf(name: ProgramName, file: string): Promise<[command: string, args: string[]]> {
  const before: Partial<Record<ProgramName, string[]>> = {
    deno: ["run", "--no-lock", "--no-check", "--unstable-net", "-A"],
    node20: [`--import=${TRANSPILE}`],
  };
  return [await program(name), [...before[name] ?? [], file]];
}

async function find(name: ProgramName): Promise<string> {
  if (name === self) return process.execPath;
  const command = COMMAND[name];
  if (FITS[name](await majorOf(command))) return command;
  const print = name === "deno" ? ["eval", "console.log(Deno.execPath())"] : ["-p", "process.execPath"];
  const args = ["exec", "--yes", "--prefer-offline", `--package=${FROM_NPM[name]}`, "--", command, ...print];
  const { stdout } = await run("npm", args, { shell: process.platform === "win32" });
  return stdout.trim();
}

async function majorOf(command: string): Promise<number> {
  try {
    const { stdout } = await run(command, ["--version"]);
    return Number(/(\d+)\./.exec(stdout)?.[1] ?? 0);
  } catch {
    return 0; // not there
  }
}
