/** Connections that wait in the accept queue of the system at the signal. */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import process from "node:process";
import { setImmediate } from "node:timers";
import { calmTurn } from "../../lib/shutdown/calm_turn.ts";
import type { ShutdownState } from "../../lib/shutdown/shutdown_state.ts";
import { runtime, test } from "../_test.ts";
import { until } from "../_tools.ts";
import { type Client, finish, quiet, serving } from "./client.ts";

const CLIENTS = 12;

/** What a calm turn needs of a shutdown. */
function state(pause: (ms: number) => void, forcing = new AbortController()): ShutdownState {
  const settings = { idle: 0 };
  const part = {
    handlerCalls: 0,
    forced: forcing.signal,
    settings,
    pause: (ms: number) => Promise.resolve(pause(ms)),
    holdBack() {},
  };
  return part as unknown as ShutdownState;
}

/** Returns the time in ms that Deno.serve waits if so many requests have arrived by then. */
async function waits(idle: number, arrived: (ms: number) => number): Promise<number> {
  let ms = 0;
  using _ = clocks(() => ms, () => 0);
  const server = Object.defineProperties(state((more) => void (ms += more)), {
    settings: { value: { idle } },
    handlerCalls: { get: () => arrived(ms) },
  });
  await calmTurn(server, () => arrived(ms), "timer");
  return ms;
}

/** Replaces the clocks: the time that has passed, and the CPU time that the process has used, both in ms. */
function clocks(now: () => number, used: () => number): Disposable {
  const { performance } = globalThis;
  const { cpuUsage } = process;
  Object.defineProperty(globalThis, "performance", { value: { now }, configurable: true });
  process.cpuUsage = (() => ({ user: 1000 * used(), system: 0 })) as typeof cpuUsage;
  return {
    [Symbol.dispose]() {
      Object.defineProperty(globalThis, "performance", { value: performance, configurable: true, writable: true });
      process.cpuUsage = cpuUsage;
    },
  };
}

test("shutdown: the wait for a calm turn ends when the shutdown is forced", async () => {
  const forcing = new AbortController();
  let pauses = 0;
  const pause = () => {
    if (++pauses === 20) forcing.abort();
  };
  await calmTurn(state(pause, forcing), () => NaN, "timer");
  assert.equal(pauses, 20);
});

test("shutdown: a turn that takes long is not calm, even if nothing arrives", async () => {
  let pauses = 0;
  const pause = () => {
    if (++pauses === 2) { for (const until = performance.now() + 10; performance.now() < until;); }
  };
  await calmTurn(state(pause), () => 0, "timer");
  assert.ok(pauses > 2);
});

test("shutdown: a full accept queue is emptied one by one, even if the process gets little CPU time", async () => {
  const BACKLOG = 511;
  let looks = 0;
  const arrived = () => Math.min(++looks, 2 * BACKLOG); // two looks a turn
  // The first turn takes longer than a server waits otherwise.
  using _ = clocks(() => looks === 0 ? 0 : 300 + looks / 100, () => looks / 10);
  await calmTurn(state(() => {}), arrived, "immediate");
  assert.ok(looks > 2 * BACKLOG, String(looks));
});

for (const kind of ["immediate", "timer"] as const) {
  test(`shutdown: a server that is busy and not short of CPU time waits for 250 ms, ${kind}`, async () => {
    let looks = 0;
    const now = () => looks; // two looks a turn, so a turn takes 2 ms
    using _ = clocks(now, kind === "immediate" ? now : () => 0);
    await calmTurn(state(() => {}), () => ++looks, kind);
    assert.ok(looks >= 250 && looks < 260, String(looks));
  });
}

test("shutdown: a server waits longer than the idle time while none of its clients gets a processor", async () => {
  assert.equal(await waits(100, () => 0), 2, "never used");
  assert.equal(await waits(100, (ms) => ms < 50 ? 1 : 2), 102);
  assert.equal(await waits(100, (ms) => ms < 165 ? 1 : 2), 172); // at the end of that step
  assert.equal(await waits(100, () => 1), 252, "quiet");
  assert.equal(await waits(20, () => 1), 52);
  assert.equal(await waits(0, () => 1), 2);
  for (const idle of [250, 5_000]) assert.equal(await waits(idle, () => 1), 252);
  assert.equal(await waits(100, (ms) => ms), 250, "busy");
});

test("shutdown: a process that gets hardly any CPU time waits for at most 2 s", async () => {
  let looks = 0;
  using _ = clocks(() => 10 * looks, () => looks / 100);
  await calmTurn(state(() => {}), () => ++looks, "immediate");
  assert.ok(looks >= 200 && looks < 205, String(looks));
});

test(`shutdown: before the listener is closed, no answer sends its client away, ${runtime}`, async () => {
  const shutdown = quiet({ idle: 500 });
  const { server, connect } = await serving(shutdown, (request, response) => {
    if (request.url === "/asks") shutdown.request();
    response.end(`done ${server.listening};`);
  });
  const client = connect();
  await client.ask("/asks", /done true;/);
  assert.doesNotMatch(client.text, /connection: close/i);
  await until(() => !server.listening);
  await client.ask("/last", /connection: close[^]*done false;/i);
  await client.end();
  assert.equal((await shutdown.finished).ok, true);
});

test(`shutdown: a request that arrives before the listener is closed is handled afterwards, ${runtime}`, async () => {
  const shutdown = quiet({ idle: 500 });
  const { server, connect } = await serving(shutdown, (_, response) => void response.end(`done ${server.listening};`));
  const client = connect();
  await client.ask("/early", /done true;/);
  client.send("/held"); // the system has it in this turn
  shutdown.request();
  await client.gets(/connection: close[^]*done false;/i);
  await client.end();
  assert.equal((await shutdown.finished).ok, true);
});

test(`shutdown: an upgrade that arrives before the listener is closed is handled afterwards, ${runtime}`, async () => {
  const shutdown = quiet({ idle: 500 });
  const { server, connect } = await serving(shutdown, (_, response) => void response.end("done;"));
  server.on("upgrade", (_request, socket: Socket) => {
    socket.end(`HTTP/1.1 101 Switching Protocols\r\nupgrade: echo\r\n\r\nlistening ${server.listening};`);
  });
  const [stays, leaves] = [connect(), connect()];
  for (const client of [stays, leaves]) await client.ask("/", /done;/);
  for (const client of [stays, leaves]) client.send("/", "connection: upgrade", "upgrade: echo"); // read in a later turn
  shutdown.request();
  await until(() => shutdown.active === 2);
  leaves.socket.resetAndDestroy(); // its socket has no listener yet
  await stays.gets(/listening false;/);
  await stays.end();
  assert.equal((await shutdown.finished).ok, true);
});

// Deno closes connections without a request as soon as it stops listening. Bun accepts all connections in one turn.
if (runtime === "node") {
  for (const connection of ["keep-alive", "close"]) {
    test(`shutdown: connections that wait in the accept queue of a busy server are served: ${connection}`, async () => {
      const shutdown = quiet();
      const { connect } = await serving(shutdown, (_request, response) => void response.end("done"));
      const early = clients(connect, connection);
      for (const client of early) await client.gets(/done$/);
      // The system accepts these within this turn, the process not before its next one.
      const queued = clients(connect, "keep-alive");
      assert.equal((await finish(shutdown)).ok, true);
      for (const client of [...early, ...queued]) await client.end();
      assert.equal(queued.filter(({ text }) => /200 OK[^]*done$/.test(text)).length, CLIENTS);
    });
  }

  test("shutdown: a long turn without a new connection does not prove that the accept queue is empty", async () => {
    const shutdown = quiet();
    const { server, connect } = await serving(shutdown, (_request, response) => void response.end("done"));
    let accepted = 0;
    server.on("connection", () => accepted++);
    const early = clients(connect, "keep-alive");
    for (const client of early) await client.gets(/done$/);
    const queued = inFirstTurnWithout(() => accepted, () => {
      const newcomers = clients(connect, "keep-alive");
      for (const until = performance.now() + 50; performance.now() < until;); // as a slow request does
      return newcomers;
    });
    assert.equal((await finish(shutdown)).ok, true);
    for (const client of [...early, ...await queued]) await client.end();
    assert.equal((await queued).filter(({ text }) => text.endsWith("done")).length, CLIENTS);
  });
}

/** Calls `fn` at the end of the first turn of the event loop in which the count stays the same. */
function inFirstTurnWithout<T>(count: () => number, fn: () => T): Promise<T> {
  return new Promise((resolve) => {
    const look = (before: number) => {
      if (count() === before) resolve(fn());
      else setImmediate(look, count());
    };
    setImmediate(look, NaN);
  });
}

function clients(connect: () => Client, connection: string): Client[] {
  const all = Array.from({ length: CLIENTS }, connect);
  for (const client of all) client.send("/", `connection: ${connection}`);
  return all;
}
