/** A signal that comes while the service starts: an ordinary shutdown, whatever comes after it. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import process from "node:process";
import type { GracefulShutdown } from "../../mod.ts";
import { runtime, test } from "../_test.ts";
import { nextTurn, until } from "../_tools.ts";
import { shutdownWarnings } from "../_warnings.ts";
import { connected, finish, gate, isFree, listen, quiet } from "./client.ts";

/** The steps of a start, in the order of the examples. */
async function startUp(shutdown: GracefulShutdown, pause: (at: string) => Promise<void>): Promise<string[]> {
  const log: string[] = [];
  await pause("before anything");
  shutdown.defer(async () => {
    await Promise.resolve();
    log.push("database closed");
  });
  await pause("before the server");
  const server = createServer((_, response) => void response.end("done"));
  server.on("close", () => log.push("server closed"));
  shutdown.attach(server);
  await pause("before it listens");
  shutdown.onShutdown(() => void log.push("callback"));
  const port = await listen(server);
  log.push("listens");
  await pause("after it listens");
  shutdown.ready = true;
  await until(() => isFree(port));
  return log;
}

const PAUSES = ["before anything", "before the server", "before it listens", "after it listens"];

for (const at of PAUSES) {
  for (const until of ["the signal has come", "the shutdown is finished"]) {
    test(`start-up: a signal ${at}, where it goes on once ${until}, ${runtime}`, async () => {
      const shutdown = quiet({ ready: false });
      let log: string[] = [];
      const warnings = await shutdownWarnings(async () => {
        log = await startUp(shutdown, async (pause) => {
          if (pause !== at) return;
          shutdown.request();
          if (until === "the shutdown is finished") await shutdown.finished;
        });
        await shutdown.finished;
      });
      const { ok, errors } = await shutdown.finished;
      assert.deepEqual([ok, errors, warnings], [true, [], []]);
      // A server that was stopped before it listened is closed a second time.
      const once = log.filter((entry) => entry !== "server closed");
      assert.deepEqual(once.toSorted(), ["callback", "database closed", "listens"]);
    });
  }
}

test(`start-up: what is registered after the end is called at once, and its promise settles as it does, ${runtime}`, async () => {
  const shutdown = quiet();
  assert.equal((await finish(shutdown)).ok, true);
  const calls: string[] = [];
  const { promise, open } = gate();
  const deferred = shutdown.defer(async () => {
    calls.push("deferred");
    await promise;
    calls.push("ended");
  });
  const registered = shutdown.onShutdown(() => void calls.push("registered"));
  assert.deepEqual(calls, ["deferred", "registered"]);
  const finished = shutdown.finished; // waits for it
  open();
  assert.equal((await finished).ok, true);
  assert.deepEqual(calls, ["deferred", "registered", "ended"]);
  await Promise.all([deferred, registered]);
  const boom = new Error("boom");
  await assert.rejects(shutdown.defer(() => Promise.reject(boom))!, boom);
  await assert.rejects(
    shutdown.onShutdown(() => {
      throw boom;
    })!,
    boom,
  );
  const { ok, errors, drained } = await shutdown.finished;
  assert.deepEqual([ok, errors, drained], [false, [boom, boom], true]);
  await assert.rejects(shutdown.track(() => {}), { name: "ClosedError" });
});

test(`start-up: a step that is deferred while others run, runs next, ${runtime}`, async () => {
  const shutdown = quiet();
  const order: string[] = [];
  shutdown.defer(() => void order.push("first"));
  shutdown.defer(() => {
    order.push("second");
    shutdown.defer(() => void order.push("late"));
    shutdown.onShutdown(() => void order.push("later"));
  });
  assert.equal((await finish(shutdown)).ok, true);
  assert.deepEqual(order, ["second", "later", "late", "first"]);
});

test(`start-up: a listening server that is attached when everything is over refuses, ${runtime}`, async () => {
  const shutdown = quiet({ idle: 20 });
  await finish(shutdown);
  const server = createServer((_, response) => void response.end("done"));
  server.keepAliveTimeout = 0; // it never closes a connection itself
  const port = await listen(server);
  const open = connected(port);
  await open.ask("/", /done/);
  shutdown.attach(server);
  await open.end();
  assert.equal((await shutdown.finished).ok, true);
  assert.ok(await isFree(port));
});

test(`attach: the end waits for a server that is attached while the last one closes, ${runtime}`, async () => {
  const shutdown = quiet();
  const events: string[] = [];
  const { promise, open } = gate();
  const late = {
    shutdown: async () => {
      events.push("late stops");
      await promise;
      events.push("late is closed");
    },
  };
  const first = {
    shutdown: async () => {
      for (let i = 0; i < 5; i++) await nextTurn(); // the drain waits for its closing alone
      shutdown.attach(late);
      await until(() => events.length > 0);
      events.push("first is closed");
      setTimeout(open, 20);
    },
  };
  shutdown.handler(() => new Response());
  shutdown.attach(first);
  assert.equal((await finish(shutdown)).ok, true);
  assert.deepEqual(events, ["late stops", "first is closed", "late is closed"]);
});

test(`start-up: a step that is deferred while the warnings are printed runs, too, ${runtime}`, async () => {
  const shutdown = quiet();
  let ran = false;
  const listener = () => void shutdown.defer(() => void (ran = true));
  process.once("warning", listener); // nothing was tied to the shutdown
  await finish(shutdown);
  process.off("warning", listener);
  assert.equal(ran, true);
});
