/**
 * Runs a command, passes on what it prints, and shows that it is at work: after each 8 seconds without a line it prints
 * one. With a limit the command gets a process group of its own, which ends as a whole.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { setTimeout } from "node:timers/promises";

const SILENCE = 8_000; // ms
/** How long a process that left the group may keep the pipes of its output open, in ms. */
const CLOSING = 2_000;

export interface RunOptions {
  /** Seconds after which the command and everything that it started are ended. Default: none. */
  readonly limit?: number;
  /** Variables of the environment, besides those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** What it is doing, as in "8 s: still running", to print during a silence. */
  readonly doing?: string;
}

export interface Outcome {
  /** The exit code, or 1 if a signal ended it. */
  readonly status: number;
  readonly seconds: number;
  readonly timedOut: boolean;
  readonly output: string;
  /** Command lines of processes that the command left behind. They are ended by now. */
  readonly leftovers: readonly string[];
}

/** The ends of what runs now: a group gets no Ctrl-C of the terminal. */
const interrupts = new Set<() => void>();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    for (const interrupt of interrupts) interrupt();
    process.exit(130);
  });
}

export async function run([command, ...args]: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const { limit, env, doing = "running" } = options;
  const begun = performance.now();
  const child = spawn(command!, args, {
    stdio: ["ignore", "pipe", "pipe"],
    detached: limit !== undefined,
    env: { ...process.env, ...env },
  });
  const exited = once(child, "exit");
  const closed = once(child, "close");
  const interrupt = () => limit === undefined ? void child.kill() : end(child.pid!);
  interrupts.add(interrupt);
  let output = "", heard = begun, timedOut = false;
  for (const [from, to] of [[child.stdout, process.stdout], [child.stderr, process.stderr]] as const) {
    from.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      heard = performance.now();
      to.write(text);
    });
  }
  const watch = setInterval(() => {
    const now = performance.now();
    if (limit !== undefined && now - begun > 1000 * limit) {
      timedOut = true;
      interrupt();
    }
    if (now - heard < SILENCE) return;
    heard = now;
    console.error(`  … ${Math.round((now - begun) / 1000)} s: still ${doing}`);
  }, 500);
  const [code] = await exited;
  clearInterval(watch);
  const leftovers = limit === undefined || timedOut ? [] : membersOf(child.pid!);
  if (limit !== undefined) interrupt();
  interrupts.delete(interrupt);
  await Promise.race([closed, setTimeout(CLOSING, undefined, { ref: false })]);
  return { status: code ?? 1, seconds: (performance.now() - begun) / 1000, timedOut, output, leftovers };
}

function end(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // The group is gone.
  }
}

/** The command lines of the living processes of a group, where the system has a /proc. */
function membersOf(leader: number): string[] {
  if (!existsSync("/proc/self/stat")) return [];
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const [state, , of] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (state === "Z" || Number(of) !== leader) return [];
      return [readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim().slice(0, 200)];
    } catch {
      return []; // it ended meanwhile
    }
  });
}
