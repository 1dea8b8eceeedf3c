/** A process whose event loop is blocked when SIGTERM comes: what the system has accepted meanwhile is answered. */
import assert from "node:assert/strict";
import { runtime, test } from "../_test.ts";
import { nextTurn } from "../_tools.ts";
import { connected } from "../shutdown/client.ts";
import { said, signal, start } from "../shutdown/round.ts";
import type { ProgramName } from "../shutdown/runtimes.ts";

const CLIENTS = 50;

const SERVERS: [runtime: ProgramName, kind: "fetch" | "node"][] = [
  ["node20", "node"],
  ["node", "node"],
  ["deno", "node"],
  ["deno", "fetch"],
  ["bun", "node"],
  ["bun", "fetch"],
];

for (const [on, kind] of runtime === "deno" ? SERVERS : []) {
  for (const ms of [1000, 3000]) {
    test(`shutdown: all that came while the process was blocked for ${ms} ms are answered, ${kind} on ${on}`, async () => {
      const { answered, code, output } = await blocked(on, kind, ms);
      assert.deepEqual([answered, code], [CLIENTS, 0], output);
    });
  }
}

async function blocked(
  on: ProgramName,
  kind: string,
  ms: number,
): Promise<{ answered: number; code: number | null; output: string }> {
  const server = await start(on, "tests/shutdown/blocked_server.ts", [kind, String(ms)]);
  const port = Number(await said(server, /listening on (\d+)/));
  server.child.stdin.write("\n");
  await said(server, /blocked/);
  const clients = Array.from({ length: CLIENTS }, () => connected(port));
  await Promise.all(clients.map(({ socket }) => new Promise((resolve) => socket.once("connect", resolve))));
  for (const client of clients) client.send("/");
  await nextTurn();
  assert.doesNotMatch(server.output.text, /free/);
  signal(server, "SIGTERM");
  const { code } = await server.ended;
  for (const client of clients) await client.end();
  return { answered: clients.filter(({ text }) => text.endsWith("done")).length, code, output: server.output.text };
}
