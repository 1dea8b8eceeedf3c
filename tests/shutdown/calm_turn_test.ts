/** Connections that the system accepts at the moment of the signal. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { connect } from "node:net";
import { runtime, test } from "../_test.ts";
import { Client, host, listen, quiet } from "./client.ts";

const CLIENTS = 12;
/** On a busy machine few turns are calm. */
const ROUNDS = 10;

// Deno's node:http closes connections without a request as soon as it stops listening.
if (runtime !== "deno") {
  // A part of them: Node 20 accepts all in one turn, Node 26 a few. If the listener is closed at once, it is none.
  test(`shutdown: connections that wait in the accept queue at the signal are not all reset, ${runtime}`, async () => {
    let served = 0;
    for (let round = 0; served === 0 && round < ROUNDS; round++) served = await servedOfQueued();
    assert.ok(served > 0);
  });
}

/** Ends a busy server while new connections wait in its accept queue; returns how many of these got an answer. */
async function servedOfQueued(): Promise<number> {
  const shutdown = quiet();
  const server = shutdown.attach(createServer((_request, response) => void response.end("done")));
  const port = await listen(server);
  const early = clients(port, "/early");
  for (const client of early) await client.gets(/done$/);
  // The system accepts these within this turn, the process not before its next one.
  const queued = clients(port, "/queued");
  shutdown.request();
  assert.equal((await shutdown.finished).ok, true);
  for (const client of [...early, ...queued]) await client.end();
  return queued.filter(({ text }) => /connection: close[^]*done$/i.test(text)).length;
}

function clients(port: number, path: string): Client[] {
  const all = Array.from({ length: CLIENTS }, () => new Client(connect({ port, host })));
  for (const client of all) client.send(path);
  return all;
}
