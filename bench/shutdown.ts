/**
 * `deno run -A bench/shutdown.ts [--rounds N] [--only TEXT]`: the cost of a graceful shutdown while it does not happen:
 * CPU time per request of a hello-world server, next to a bare one.
 *
 * Each server is a process of its own (`shutdown.ts serve KIND NAME`), and they serve in turns, a few hundred requests
 * each, so other work on the machine hits them alike. The bare server has two, whose difference is the noise.
 */
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type BunServerLike, type DenoServerLike, GracefulShutdown } from "../mod.ts";
import { type ProgramName, startOf } from "../tests/shutdown/runtimes.ts";
import { quantile } from "./_situation.ts";

const [CONNECTIONS, WARM_UP, REQUESTS] = [32, 8_000, 4_000];
const BARE = "a bare server";

const GROUPS: readonly (readonly [title: string, ProgramName, kind: "node" | "fetch"])[] = [
  ["node:http on Node 20", "node20", "node"],
  ["node:http on the newest Node", "node", "node"],
  ["node:http on Deno", "deno", "node"],
  ["Deno.serve", "deno", "fetch"],
  ["Bun.serve", "bun", "fetch"],
];

interface Platform {
  Deno?: { serve(options: object, handler: () => Response): DenoServerLike & { addr: { port: number } } };
  Bun?: { serve(options: object): BunServerLike & { port: number } };
}

function serveFetch(name: string): number {
  const { Deno, Bun } = globalThis as Platform;
  const shutdown = name === BARE ? undefined : new GracefulShutdown();
  const hello = () => new Response("hello\n");
  const fetch = (shutdown?.handler(hello) ?? hello) as typeof hello;
  const options = { port: 0, hostname: "127.0.0.1", onListen() {}, signal: shutdown?.forced, fetch };
  const server = Bun?.serve(options) ?? Deno!.serve(options, fetch);
  shutdown?.attach(server as DenoServerLike);
  return "addr" in server ? server.addr.port : server.port;
}

async function serveNode(name: string): Promise<number> {
  const server = createServer((_, response) => void response.end("hello\n"));
  if (name !== BARE) new GracefulShutdown().attach(server);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return (server.address() as AddressInfo).port;
}

/** Prints its port, then its CPU time so far in µs for each line that it reads. */
async function serve(kind: string, name: string): Promise<void> {
  console.log(kind === "fetch" ? serveFetch(name) : await serveNode(name));
  process.stdin.on("data", () => {
    const { user, system } = process.cpuUsage();
    console.log(user + system);
  });
}

/** Starts a server; `load` sends requests over kept-alive connections and returns the CPU time of one, in µs. */
async function start(runTime: ProgramName, kind: string, name: string) {
  const [command, args] = await startOf(runTime, fileURLToPath(import.meta.url));
  const child = spawn(command, [...args, "serve", kind, name], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const url = `http://127.0.0.1:${(await lines.next()).value}/`;
  const cpu = async () => (child.stdin.write("\n"), Number((await lines.next()).value));
  const load = async (requests: number) => {
    const before = await cpu();
    await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
      for (let i = 0; i < requests / CONNECTIONS; i++) await (await fetch(url)).text();
    }));
    return (await cpu() - before) / requests;
  };
  return { load, kill: () => child.kill("SIGKILL") };
}

async function measure([title, runTime, kind]: typeof GROUPS[number], rounds: number): Promise<void> {
  const all = [BARE, BARE, "interlock"];
  const servers = await Promise.all(all.map((name) => start(runTime, kind, name)));
  const figures: number[][] = all.map(() => []);
  for (const { load } of servers) await load(WARM_UP);
  for (let i = 0; i < rounds * all.length; i++) {
    figures[i % all.length]!.push(await servers[i % all.length]!.load(REQUESTS));
  }
  for (const { kill } of servers) kill();
  console.log(`\n${title}\n\n| server | µs of CPU time a request | × a bare server |\n| --- | --: | --: |`);
  for (const [i, name] of all.entries()) {
    const ratios = figures[i]!.map((figure, round) => 2 * figure / (figures[0]![round]! + figures[1]![round]!));
    const spread = (quantile(ratios, 0.75) - quantile(ratios, 0.25)) / 2;
    const cells = [
      name,
      quantile(figures[i]!, 0.5).toFixed(1),
      `${quantile(ratios, 0.5).toFixed(2)} ±${spread.toFixed(2)}`,
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
}

const text = (value: string) => ({ type: "string", default: value }) as const;
const { values: { rounds, only }, positionals: [what, kind, name] } = parseArgs({
  options: { rounds: text("12"), only: text("") },
  allowPositionals: true,
});
if (what === "serve") await serve(kind!, name!);
else {
  for (const group of GROUPS) if (group[0].includes(only)) await measure(group, Number(rounds));
  process.exit();
}
