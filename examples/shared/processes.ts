/** Processes of the same run-time, for what is shared between processes. */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";

/** Starts a script, and passes each line that it prints to `onLine`. */
export function startScript(path: string, args: readonly string[], onLine: (line: string) => void): ChildProcess {
  const before = "Deno" in globalThis ? ["run", "--quiet", "-A"] : process.execArgv;
  const child = spawn(process.execPath, [...before, path, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  createInterface({ input: child.stdout! }).on("line", onLine);
  return child;
}

/** Kills it, as a crash would, and waits until it is gone. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  process.kill(child.pid!, "SIGKILL");
  await gone;
}
