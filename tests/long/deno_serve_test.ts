/** `deno serve`: an answer is in flight until the system, or a slow client, has it, although there is no server to attach. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import process from "node:process";
import { runtime, test } from "../_test.ts";
import { nextTurn } from "../_tools.ts";
import { connected, host } from "../shutdown/client.ts";
import { said, signal, type Started, started } from "../shutdown/round.ts";

const SIZE = 20_000_000;

/** A process of `deno serve`, and its port. */
async function serving(): Promise<{ server: Started; port: number }> {
  const args = [
    "serve",
    "-A",
    "--no-lock",
    "--no-check",
    "--host",
    host,
    "--port",
    "0",
    "tests/shutdown/deno_serve.ts",
  ];
  const server = started(spawn(process.execPath, args));
  return { server, port: Number(await said(server, /listening on \S+:(\d+)\//i)) };
}

if (runtime === "deno") {
  for (const path of ["/text", "/bytes", "/blob"]) {
    test(`deno serve: a slow client gets all of ${path}`, async () => {
      const { server, port } = await serving();
      const client = connected(port);
      client.send(path, "connection: close");
      await client.gets(/xxx/);
      client.socket.pause();
      signal(server, "SIGTERM");
      // The server has the time to end too early.
      for (let i = 0; i < 50; i++) await nextTurn();
      client.socket.resume();
      while (client.bytes < SIZE) {
        assert.ok(!client.closed, `closed after ${client.bytes} bytes`);
        await nextTurn();
      }
      client.destroy();
      assert.deepEqual(await server.ended, { code: 0, signal: null });
    });
  }

  for (const [path, size] of [["/quick", 5], ["/piece", 60_000], ["/nothing", 0]] as const) {
    test(`deno serve: answers of ${path} that are given when it ends are sent`, async () => {
      const { server, port } = await serving();
      const sizes = Array.from({ length: 50 }, async () => {
        const response = await fetch(`http://${host}:${port}${path}?late`);
        return (await response.bytes()).length;
      });
      await said(server, /(waits\s*){50}/);
      signal(server, "SIGTERM");
      assert.deepEqual(new Set(await Promise.all(sizes)), new Set([size]));
      assert.deepEqual(await server.ended, { code: 0, signal: null });
    });
  }
}
