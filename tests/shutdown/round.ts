/**
 * One round: start a server, put it under load, end it by a signal, and compare what the clients saw with what the server
 * accepted.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import type { Routes } from "./jobs.ts";
import type { Tally } from "./load.ts";
import { type ProgramName, startOf } from "./runtimes.ts";
import { seeded } from "./seeded.ts";

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

/** Starts the tests' server, or one that takes the same arguments. */
export async function startServer(
  runtime: ProgramName,
  kind: string,
  args: readonly string[] = [],
  source = "tests/shutdown/server.ts",
): Promise<Server> {
  const file = join(tmpdir(), `interlock-shutdown-${randomUUID()}.json`);
  const started = await start(runtime, source, [kind, file, "--port", "0", ...args]);
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
  for (const name of ["http2", "split", "upgraded", "web-sockets"] as const) if (flags[name]) args.push(`--${name}`);
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
  upgraded?: boolean;
  "web-sockets"?: boolean;
}

/** The outcome of a round. */
export interface Outcome {
  accepted: number;
  whole: number;
  refused: number;
  noConnection: number;
  closedNew: number;
  closedKept: number;
  /** Accepted, and yet not answered whole; with what the client saw. */
  lost: string[];
  /** Answered wrongly, or cut off half-way. */
  wrong: string[];
  longest: number;
  /** ms from the signal to the end of the process. */
  exit: number;
  code: number | null;
  report: ServerReport;
}

/** Plays a round. The moment of the signal depends on the seed: up to `spread` ms after the load began. */
export async function round(
  runtime: ProgramName,
  kind: "fetch" | "node",
  seed: number,
  { connections = 200, spread = 500, args = ["--grace", "60000"] } = {},
): Promise<Outcome> {
  const server = await startServer(runtime, kind, args);
  const load = await startLoad({ port: server.port, seed, connections });
  await new Promise((resolve) => setTimeout(resolve, seeded(seed)() * spread));
  const signalled = performance.now();
  signal(server, "SIGTERM");
  const { code } = await server.ended;
  const exit = performance.now() - signalled;
  const tally = await load.tally();
  if (code !== 0) throw new Error(`The server ended with ${code}: ${server.output.text}`);
  return compare(tally, server.report(), exit, code);
}

function compare(tally: Tally, report: ServerReport, exit: number, code: number | null): Outcome {
  const whole = new Set(tally.whole);
  const lost = report.accepted.filter((id) => !whole.has(id)).map((id) => `${id} ${tally.wrong[id] ?? "no answer"}`);
  const wrong = Object.entries(tally.wrong).map(([id, what]) => `${id} ${what}`);
  const { refused, noConnection, closedNew, closedKept, longest } = tally;
  const counts = { refused, noConnection, closedNew, closedKept, longest };
  return { accepted: report.accepted.length, whole: whole.size, ...counts, lost, wrong, exit, code, report };
}
