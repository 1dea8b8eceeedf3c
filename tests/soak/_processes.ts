/** The soak as a process of a run-time. */
import { fileURLToPath } from "node:url";
import { type ProgramName, startOf } from "../shutdown/runtimes.ts";

/** The command that soaks in a run-time and prints what it found; it ends with 0 if all is well. */
export async function soakIn(
  name: ProgramName,
  { minutes, seed }: { minutes: number; seed: number },
): Promise<[command: string, args: string[]]> {
  const [command, args] = await startOf(name, fileURLToPath(new URL("main.ts", import.meta.url)));
  if (name === "deno") args.splice(1, 0, "--v8-flags=--expose-gc");
  else if (name !== "bun") args.unshift("--expose-gc", "--no-warnings");
  return [command, [...args, "--here", "--minutes", String(minutes), "--seed", String(seed)]];
}
