/**
 * The frameworks that the everyday set-up does not install, under load and ended by SIGTERM: no request is lost, and the
 * process exits with code 0. Started by Deno only, for all run-times.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { runtime, test } from "../_test.ts";
import { until } from "../_tools.ts";
import { built, copied, installed } from "../shutdown/frameworks/install.ts";
import { endUnderLoad, type FrameworkOutcome, startFramework } from "../shutdown/frameworks/run.ts";
import { freePort } from "../shutdown/ports.ts";
import { signal, start } from "../shutdown/round.ts";
import type { RuntimeName } from "../shutdown/runtimes.ts";

/** The default of `idle`, in ms. */
const IDLE = 100;

const SERVERS: readonly [name: string, runtime: RuntimeName, ...args: string[]][] = [
  ["nest", "node"],
  ["nest", "node", "fastify"],
  ["apollo", "node"],
  ["trpc", "node"],
  ["hapi", "node"],
  ["feathers", "node"],
  ["h3", "node"],
  ["srvx", "bun"],
  ["elysia", "bun"],
];

if (runtime === "deno") {
  for (const [name, on, ...args] of SERVERS) {
    test(`frameworks: ${[name, ...args].join(" with ")} loses no request`, async () => {
      const server = await startFramework(on, name, { folder: installed(), args });
      check(name, await endUnderLoad(server), on === "node");
    });
  }

  for (const name of ["next", "sveltekit"] as const) {
    test(`frameworks: ${name} loses no request`, async () => {
      const args = [built(name)];
      check(name, await endUnderLoad(await startFramework("node", name, { folder: installed(), args })), true);
    });
  }

  test("frameworks: next in development ends at Ctrl-C, while a page has its HMR socket open", async () => {
    const options = { folder: installed(), args: [copied("next")], env: { NODE_ENV: "development" } };
    const server = await startFramework("node", "next", options);
    const page = new WebSocket(`ws://127.0.0.1:${server.port}/_next/hmr?id=1`);
    await new Promise((connected) => page.onmessage = connected);
    const closed = new Promise((resolve) => page.onclose = resolve);
    signal(server, "SIGINT");
    await closed;
    assert.equal((await server.ended).code, 0, server.output.text); // it ended before the grace time
  });

  test("frameworks: @grpc/grpc-js answers every call that began before the signal", async () => {
    const [folder, port] = [installed(), await freePort()];
    const server = await start("node", join(folder, "grpc.ts"), [], { PORT: String(port) });
    const client = await start("node", "tests/shutdown/frameworks/grpc_client.ts", [folder, String(port)]);
    await until(() => client.output.text.includes("begun") || client.child.exitCode !== null);
    signal(server, "SIGTERM");
    assert.equal((await server.ended).code, 0);
    await client.ended;
    assert.equal(client.output.text, "begun\n100 answered\n");
  });
}

function check(name: string, { tally, code, exit }: FrameworkOutcome, isNode: boolean): void {
  const { whole, refused, closedKept, wrong, failures } = tally;
  console.log(`${name}: ${whole.length} answered, exit after ${Math.round(exit)} ms, ${JSON.stringify(failures)}`);
  assert.deepEqual(wrong, {}, "lost or answered wrongly");
  assert.equal(refused, 0, "answered 503");
  assert.equal(code, 0);
  // Bun closes a connection right after the answer; a client that is sending again then may repeat it. So it may where a
  // busy machine lets it be silent for the idle time.
  if (isNode && tally.lateness < IDLE) assert.equal(closedKept, 0, "closed unread");
}
