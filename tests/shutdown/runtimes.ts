/**
 * Where the run-times are. A run-time that is not on PATH, or too old there, comes from npm; a test never skips one.
 */
import { execFile } from "node:child_process";
import process from "node:process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A run-time that servers are tested on. */
export type RuntimeName = "deno" | "node" | "bun";

/** The first major version of each that runs TypeScript as it is and has all that the servers use. */
const OLDEST: Record<RuntimeName, number> = { deno: 2, node: 24, bun: 1 };
const FROM_NPM: Record<RuntimeName, string> = { deno: "deno@^2", node: "node@^26", bun: "bun@^1.4" };

const found = new Map<RuntimeName, Promise<string>>();

/** The path of the run-time's program. */
export function program(name: RuntimeName): Promise<string> {
  let path = found.get(name);
  if (path === undefined) found.set(name, path = find(name));
  return path;
}

/** The command that starts a TypeScript file in it. */
export async function startOf(name: RuntimeName, file: string): Promise<[command: string, args: string[]]> {
  return [
    await program(name),
    name === "deno" ? ["run", "--no-lock", "--no-check", "--unstable-net", "-A", file] : [file],
  ];
}

async function find(name: RuntimeName): Promise<string> {
  const current = (globalThis as { Deno?: { execPath(): string } }).Deno?.execPath();
  if (name === "deno" && current !== undefined) return current;
  if (await majorOf(name) >= OLDEST[name]) return name;
  const print = name === "deno" ? ["eval", "console.log(Deno.execPath())"] : ["-p", "process.execPath"];
  const args = ["exec", "--yes", `--package=${FROM_NPM[name]}`, "--", name, ...print];
  const { stdout } = await run("npm", args, { shell: process.platform === "win32" });
  return stdout.trim();
}

async function majorOf(name: RuntimeName): Promise<number> {
  try {
    const { stdout } = await run(name, ["--version"]);
    return Number(/(\d+)\./.exec(stdout)?.[1] ?? 0);
  } catch {
    return 0; // not there
  }
}
