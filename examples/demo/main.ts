/** `deno task demo [SCENARIO…]`: tasks that take turns. No network beyond loopback. */
import process from "node:process";
import { taskCommand } from "../shared/task_command.ts";
import { Stage } from "./lanes.ts";
import { orders, type Row } from "./orders.ts";
import * as primitives from "./primitives.ts";

const scenarios: Record<string, (stage: Stage) => Promise<Row[]>> = {
  orders,
  lock: primitives.lock,
  timeout_lock: primitives.timeoutLock,
  event: primitives.event,
  set_event: primitives.setEvent,
  condition: primitives.condition,
  semaphore: primitives.semaphore,
  barrier: primitives.barrier,
  rw_lock: primitives.rwLock,
  pool: primitives.pool,
};

const HELP = `Shows tasks that take turns. On a terminal: ░ waits, █ holds, works or is open, x timed out or was cut.

Usage: deno task demo [SCENARIO…]

Without a name all are shown, in less than 15 seconds. The scenarios:
  orders        an HTTP order service: one lock for all, then a queue per user
${Object.keys(scenarios).slice(1).map((name) => `  ${name}`).join("\n")}
`;

/** Three columns, or three lines a row where they do not fit. */
function table(rows: readonly Row[], columns: number): string {
  const lines = [{ scenario: "scenario", without: "without", with: "with" }, ...rows];
  const width = (column: keyof Row) => Math.max(...lines.map((line) => line[column].length));
  const [first, second] = [width("scenario"), width("without")];
  if (first + second + width("with") + 4 > columns) {
    return rows.map((row) => `${row.scenario}\n  without  ${row.without || "-"}\n  with     ${row.with}`).join("\n");
  }
  return lines.map((line) => `${line.scenario.padEnd(first)}  ${line.without.padEnd(second)}  ${line.with}`.trimEnd())
    .join("\n");
}

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(HELP);
    return 0;
  }
  const unknown = args.filter((name) => !Object.hasOwn(scenarios, name));
  if (unknown.length > 0) {
    process.stderr.write(
      `There is no scenario ${unknown.join(", ")}. There are: ${Object.keys(scenarios).join(", ")}\n`,
    );
    return 2;
  }
  const moving = process.stdout.isTTY === true && !process.env.NO_COLOR;
  const stage = new Stage(moving, (text) => void process.stdout.write(text));
  process.once("SIGINT", () => {
    stage.restore();
    process.exit(130);
  });
  const names = args.length > 0 ? args : Object.keys(scenarios);
  if (args.length === 0) stage.say(`Tasks that take turns: ${names.length} scenarios in less than 15 seconds.`);
  const rows: Row[] = [];
  for (const name of names) {
    stage.heading(name);
    rows.push(...await scenarios[name]!(stage));
  }
  stage.heading("result");
  stage.say(table(rows, stage.columns));
  if (args.length === 0) {
    stage.say(`\n${taskCommand("demo:hang")}\n  four programs that hang, and the watchdog's reports`);
    stage.say(`${taskCommand("test")}\n  the everyday tests`);
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
// The listener for Ctrl-C would keep some run-times alive.
process.exit();
