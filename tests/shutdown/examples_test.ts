/** The servers of examples/ as processes. Each run-time starts its own. */
import assert from "node:assert/strict";
import { GracefulShutdown } from "../../mod.ts";
import { argumentsOrExit, serverArguments } from "../../examples/graceful/arguments.ts";
import { service } from "../../examples/graceful/service.ts";
import { runtime, test } from "../_test.ts";
import { said, signal, start } from "./round.ts";
import { type ProgramName, self } from "./runtimes.ts";

const EXAMPLES: Record<ProgramName, string> = {
  deno: "examples/graceful_server.ts",
  node: "examples/graceful_server_node.ts",
  node20: "examples/graceful_server_node.ts",
  bun: "examples/graceful_server_bun.ts",
};

test(`examples: a port that is taken is one clear line, ${runtime}`, async () => {
  const first = await start(self, EXAMPLES[self], ["--port", "0"]);
  const port = await said(first, /http:\S+:(\d+)\//);
  const second = await start(self, EXAMPLES[self], ["--port", port]);
  assert.deepEqual(await second.ended, { code: 1, signal: null });
  assert.equal(
    second.output.text,
    `Port ${port} is taken. Choose another one with --port; 0 takes any free port.\n`,
  );
  signal(first, "SIGKILL");
  await first.ended;
});

test("examples: the command line takes both spellings of a value, and names what is wrong", () => {
  assert.equal(serverArguments(["--port=0", "--grace", "5"]).port, 0);
  assert.throws(
    () => serverArguments(["--port=abc"]),
    /^RangeError: --port must be a whole number .*got "abc"\nUsage: /,
  );
  assert.throws(() => serverArguments(["--prot=0"]), /^RangeError: Unknown argument "--prot"\nUsage: /);
  const exit = (code: number) => assert.fail(`exits with ${code}`);
  assert.throws(() => argumentsOrExit(["8000"], exit), /exits with 2/);
});

test("examples: a page of another site ends no server, and the Host header steers no request", async () => {
  const shutdown = new GracefulShutdown({ signals: [] });
  const asked: number[] = [];
  const serve = service(shutdown, () => {
    asked.push(1);
    throw new RangeError("no port");
  });
  const post = async (url: string, origin?: string) =>
    (await serve(new Request(url, { method: "POST", headers: origin === undefined ? {} : { origin } }))).status;
  for (const path of ["shutdown", "visitors?count=1"]) {
    assert.equal(await post(`http://127.0.0.1:8000/${path}`, "http://evil.example"), 403);
    assert.equal(await post(`http://127.0.0.1:8000/${path}`, "null"), 403);
    assert.equal(await post(`http://127.0.0.1:8000/${path}`, "http://127.0.0.1:9000"), 403);
    assert.equal(await post(`http://evil.example:8000/${path}`, "http://evil.example:8000"), 403); // DNS rebinding
  }
  assert.deepEqual([shutdown.ready, asked], [true, []]);
  assert.equal(await post("http://127.0.0.1:22/visitors?count=1", "http://127.0.0.1:22"), 400);
  assert.equal(asked.length, 1);
  assert.equal(await post("http://localhost:8000/shutdown", "http://localhost:8000"), 202);
  assert.equal(shutdown.ready, false);
});
