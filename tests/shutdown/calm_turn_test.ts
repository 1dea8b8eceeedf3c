/** Connections that the system accepts at the moment of the signal. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { connect } from "node:net";
import { runtime, test } from "../_test.ts";
import { Client, host, listen, quiet } from "./client.ts";

// Deno's node:http closes connections without a request as soon as it stops listening.
if (runtime !== "deno") {
  test(`shutdown: connections that wait in the accept queue at the signal are served, ${runtime}`, async () => {
    const shutdown = quiet();
    const server = shutdown.attach(createServer((_request, response) => void response.end("done")));
    const port = await listen(server);
    const early = Array.from({ length: 12 }, () => new Client(connect({ port, host })));
    for (const client of early) client.send("/early");
    for (const client of early) await client.gets(/done$/);
    // The system accepts these within this turn, the process not before its next one.
    const queued = Array.from({ length: 12 }, () => new Client(connect({ port, host })));
    for (const client of queued) client.send("/queued");
    shutdown.request();
    assert.equal((await shutdown.finished).ok, true);
    for (const client of [...early, ...queued]) await client.end();
    // On a busy machine no turn is calm, and the last ones may be reset; if the listener is closed at once, all of them are.
    const served = queued.filter(({ text }) => /connection: close[^]*done$/i.test(text));
    assert.ok(served.length > queued.length / 2, `${served.length} of ${queued.length} were served`);
  });
}
