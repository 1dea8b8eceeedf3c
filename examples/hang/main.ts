/** `deno task demo:hang`: four programs that hang, and the watchdog's reports. Ends by itself. */
import { type Finding, watchdog } from "@interlock/interlock/diagnostics";
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { kill, startScript } from "../shared/processes.ts";
import { connect } from "../shared/redis.ts";
import { startServer } from "../shared/redis_server.ts";
import * as forgottenRelease from "./forgotten_release.ts";
import * as oppositeOrders from "./opposite_orders.ts";
import * as reEntrancy from "./re_entrancy.ts";
import * as stuckHolder from "./stuck_holder.ts";

/** Shorter than the defaults (10 s, 10 s, 1 s), so that the demo is short. */
const LIMITS = { waited: 2_000, held: 2_000, self: 1_000 };

const isTerminal = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
const style = (code: number) => (text: string) => isTerminal ? `\x1b[${code}m${text}\x1b[0m` : text;
const bold = style(1), dim = style(2), yellow = style(33);

/** Shows a program, runs it, and shows what the watchdog reports until it has reported `count` findings. */
async function show(title: string, file: string, hang: () => Promise<void>, count: number): Promise<void> {
  console.log(`\n${bold(title)}\n${dim(`examples/hang/${file}`)}\n\n${listing(file)}\n`);
  const findings: Finding[] = [];
  using _ = watchdog({
    ...LIMITS,
    report(message, finding) {
      findings.push(finding);
      console.log(yellow(indent(message)));
    },
  });
  hang().catch(() => {}); // it ends with the demo
  for (let tries = 0; findings.length < count && tries < 100; tries++) await sleep(100);
}

/** The program below its imports, with the numbers of its lines. */
function listing(file: string): string {
  const lines = readFileSync(new URL(file, import.meta.url), "utf8").trimEnd().split("\n");
  const first = lines.findLastIndex((line) => line.startsWith("import ")) + 2;
  return lines.map((line, i) => `${dim(String(i + 1).padStart(4))}  ${line}`).slice(first).join("\n");
}

function indent(text: string): string {
  return text.split("\n").map((line) => `  ${line}`).join("\n");
}

/** The fourth program needs a Redis and a second process. */
async function showStuckHolder(children: ChildProcess[]): Promise<void> {
  const title = "4  The holder is stuck in another process";
  const explain = (error: Error) => console.log(`\n${bold(title)}\n  ${error.message}`);
  const server = await startServer().catch(explain);
  if (!server) return;
  const connection = await connect(server.url).catch(explain);
  if (!connection) return await server.stop();
  try {
    const worker = fileURLToPath(new URL("./stuck_holder_process.ts", import.meta.url));
    await new Promise<void>((resolve) => children.push(startScript(worker, [server.url], () => resolve())));
    await show(title, "stuck_holder.ts", () => stuckHolder.hang(connection.backend), 1);
    const { holders } = await stuckHolder.report(connection.backend).inspect();
    console.log(
      `\n  ${dim("await lock.inspect() shows the holder:")}\n${indent(JSON.stringify(holders[0], undefined, 2))}`,
    );
  } finally {
    connection.close();
    for (const child of children) await kill(child);
    await server.stop();
  }
}

console.log(bold("Four programs that hang, and what the watchdog reports of each."));
console.log(`One line turns it on: ${bold("watchdog()")}, from @interlock/interlock/diagnostics.`);
console.log(dim(`Here it reports after ${LIMITS.waited / 1000} s, by default after 10 s; deadlocks after 1 s.`));
await show("1  A forgotten release", "forgotten_release.ts", forgottenRelease.hang, 2);
await show("2  A lock that is acquired twice by one caller", "re_entrancy.ts", reEntrancy.hang, 1);
await show("3  Two locks in opposite orders", "opposite_orders.ts", oppositeOrders.hang, 1);
await showStuckHolder([]);
console.log(`\n${dim("docs/it-hangs.md: what to do about each.")}`);
process.exit(); // three programs still hang
