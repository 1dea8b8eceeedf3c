/** Programs of the tests in processes of their own, on the same run-time. */
import { spawn } from "node:child_process";
import process from "node:process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { runtime } from "./_test.ts";

/** How a program ended, and what it printed. */
export interface End {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const FLAGS = runtime === "deno"
  ? ["run", "-A", "--no-check"]
  : process.execArgv.filter((flag) => flag.startsWith("--import"));

/** Runs a program to its end; after `limit` ms it is killed. The code of one that was killed, or crashed, is null. */
export async function runProgram(
  program: URL,
  args: readonly string[] = [],
  { limit = 50_000, flags = FLAGS, env = {} }: {
    readonly limit?: number;
    readonly flags?: readonly string[];
    /** What is added to the environment. */
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Promise<End> {
  const child = spawn(process.execPath, [...flags, fileURLToPath(program), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  const alarm = setTimeout(() => child.kill("SIGKILL"), limit);
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const [code, out, err] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  clearTimeout(alarm);
  return { code, out: out.trim(), err };
}
