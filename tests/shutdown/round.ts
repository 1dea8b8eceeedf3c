/**
 * One round: start a server, put it under load, end it by a signal, and compare what the clients saw with what the server
 * accepted.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import type { Tally } from "./load.ts";
import { type RuntimeName, startOf } from "./runtimes.ts";
import { seeded } from "./seeded.ts";

/** What the server writes when it is done. */
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
  child: ChildProcess;
  output: { text: string };
  ended: Promise<{ code: number | null; signal: string | null }>;
}

/** Starts a file of this repository in a run-time. */
export async function start(runtime: RuntimeName, file: string, args: readonly string[]): Promise<Started> {
  const [command, before] = await startOf(runtime, join(repository(), file));
  const child = spawn(command, [...before, ...args], { stdio: ["ignore", "pipe", "pipe"] });
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

let files = 0;

/** Starts the tests' server. */
export async function startServer(runtime: RuntimeName, kind: "fetch" | "node", args: string[] = []): Promise<Server> {
  const file = join(tmpdir(), `interlock-shutdown-${process.pid}-${Date.now()}-${files++}.json`);
  const started = await start(runtime, "tests/shutdown/server.ts", [kind, file, "--port", "0", ...args]);
  const port = Number(await said(started, /listening on (\d+)/));
  const report = () => {
    const read: ServerReport = JSON.parse(readFileSync(file, "utf8"));
    rmSync(file);
    return read;
  };
  return { ...started, port, report };
}

/** What a round came to. */
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

/** Plays a round. The moment of the signal depends on the seed: 300 to 300 + `spread` ms after the load began. */
export async function round(
  runtime: RuntimeName,
  kind: "fetch" | "node",
  seed: number,
  { connections = 200, spread = 500, args = [] as string[] } = {},
): Promise<Outcome> {
  const server = await startServer(runtime, kind, args);
  const load = await start("node", "tests/shutdown/load.ts", [server.port, seed, connections].map(String));
  // The load begins some time after the process does.
  await new Promise((resolve) => setTimeout(resolve, 300 + seeded(seed)() * spread));
  const signalled = performance.now();
  signal(server, "SIGTERM");
  const { code } = await server.ended;
  const exit = performance.now() - signalled;
  await load.ended;
  if (code !== 0) throw new Error(`The server ended with ${code}: ${server.output.text}`);
  return compare(JSON.parse(load.output.text), server.report(), exit, code);
}

function compare(tally: Tally, report: ServerReport, exit: number, code: number | null): Outcome {
  const whole = new Set(tally.whole);
  const lost = report.accepted.filter((id) => !whole.has(id)).map((id) => `${id} ${tally.wrong[id] ?? "no answer"}`);
  const wrong = Object.entries(tally.wrong).map(([id, what]) => `${id} ${what}`);
  const { refused, noConnection, closedNew, closedKept, longest } = tally;
  const counts = { refused, noConnection, closedNew, closedKept, longest };
  return { accepted: report.accepted.length, whole: whole.size, ...counts, lost, wrong, exit, code, report };
}
