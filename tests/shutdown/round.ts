/** Servers and load generators as processes: how they are started, asked to end, and what they report. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import type { Routes } from "./jobs.ts";
import type { Tally } from "./load.ts";
import { type ProgramName, startOf } from "./runtimes.ts";

/** The file that the server writes at its end. */
export interface ServerReport {
  reason: string;
  drained: boolean;
  remaining: string[];
  elapsed: number;
  errors: string[];
  accepted: string[];
}

/** A process that was started, and how it ends. */
export interface Started {
  child: ChildProcessWithoutNullStreams;
  output: { text: string };
  ended: Promise<{ code: number | null; signal: string | null }>;
}

/** Starts a file of this repository in a run-time. */
export async function start(
  runtime: ProgramName,
  file: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Started> {
  const [command, before] = await startOf(runtime, resolve(repository(), file));
  return started(spawn(command, [...before, ...args], { stdio: "pipe", env: { ...process.env, ...env } }));
}

/** The same for any process that has pipes. */
export function started(child: ChildProcessWithoutNullStreams): Started {
  const output = { text: "" };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (data) => output.text += data);
  }
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.on("close", (code, signal) => resolve({ code, signal }));
  });
  return { child, output, ended };
}

/** Above where the tests were started; the tests themselves may run from transpiled copies elsewhere. */
function repository(): string {
  let folder = process.cwd();
  while (!existsSync(join(folder, "deno.json")) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

/** Sends it a signal. (Deno's own `child.kill` reports a process that ends by itself later as killed.) */
export function signal({ child }: Started, name: string): void {
  process.kill(child.pid!, name);
}

/** The time in ms after which an orchestrator sends SIGKILL. */
const KILL_AFTER = 30_000;

/** Sends SIGTERM and, as an orchestrator does, SIGKILL later; resolves to the ms until the end. */
export async function end(server: Started): Promise<number> {
  const begun = performance.now();
  signal(server, "SIGTERM");
  const timer = setTimeout(() => signal(server, "SIGKILL"), KILL_AFTER);
  await server.ended;
  clearTimeout(timer);
  return performance.now() - begun;
}

/** Waits until the output has what is looked for, and returns the first group. */
export async function said({ child, output }: Started, pattern: RegExp): Promise<string> {
  for (;;) {
    const match = pattern.exec(output.text);
    if (match !== null) return match[1] ?? match[0];
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`It ended, saying: ${output.text}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A server process that is listening. */
export interface Server extends Started {
  port: number;
  /** To be called once, after its end. */
  report(): ServerReport;
}

/** Starts server.ts. */
export async function startServer(runtime: ProgramName, kind: string, args: readonly string[] = []): Promise<Server> {
  const file = join(tmpdir(), `interlock-shutdown-${randomUUID()}.json`);
  const started = await start(runtime, "tests/shutdown/server.ts", [kind, file, "--port", "0", ...args]);
  const port = Number(await said(started, /listening on (\d+)/));
  const report = () => {
    const read: ServerReport = JSON.parse(readFileSync(file, "utf8"));
    rmSync(file);
    return read;
  };
  return { ...started, port, report };
}

/** A load generator that is under way. */
export interface Load extends Started {
  /** Stops it, if it is one that keeps up; resolves to the outcome once it has ended. */
  tally(): Promise<Tally>;
}

/** Starts the load generator, and waits until every connection has been used. */
export async function startLoad(
  { port, seed = 1, connections = 50, routes = "service" as Routes, ...flags }: LoadOptions,
): Promise<Load> {
  const args = ["--port", port, "--seed", seed, "--connections", connections, "--routes", routes].map(String);
  if (flags.keepUp) args.push("--keep-up");
  for (const name of ["http2", "split"] as const) if (flags[name]) args.push(`--${name}`);
  const load = await start("node", "tests/shutdown/load.ts", args);
  await said(load, /begun/);
  const tally = async () => {
    load.child.stdin.end();
    await load.ended;
    return JSON.parse(load.output.text.trim().split("\n").at(-1)!) as Tally;
  };
  return { ...load, tally };
}

/** See load.ts. */
export interface LoadOptions {
  port: number;
  seed?: number;
  connections?: number;
  routes?: Routes;
  keepUp?: boolean;
  http2?: boolean;
  split?: boolean;
}
