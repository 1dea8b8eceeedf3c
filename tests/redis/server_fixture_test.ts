/** The servers of the tests: none is taken for another one, whichever process is quicker to take a port. */
import assert from "node:assert/strict";
import { type AddressInfo, createServer } from "node:net";
import { test } from "../_test.ts";
import { Server } from "./_server.ts";

test("servers of the tests: one whose port belongs to another server waits for it, and answers itself", async () => {
  await using first = await Server.start();
  await first.send("SET", "a", "of the first");
  let second: Server | undefined;
  const starting = Server.startAt(first.port).then((server) => second = server);
  for (let i = 0; i < 3; i++) await (await Server.start())[Symbol.asyncDispose](); // it has had the time to be wrong
  assert.equal(second, undefined);
  await first.kill();
  await using server = await starting;
  assert.equal(await server.send("GET", "a"), null);
});

test("servers of the tests: a port that is taken by something else is waited for", async () => {
  const taken = createServer((socket) => void socket.destroy());
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const starting = Server.startAt((taken.address() as AddressInfo).port);
  await (await Server.start())[Symbol.asyncDispose]();
  await new Promise((resolve) => taken.close(resolve));
  await using server = await starting;
  assert.equal(await server.send("PING"), "PONG");
});
