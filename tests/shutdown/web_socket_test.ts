/** GracefulShutdown: WebSockets are told, counted and cut. */
import assert from "node:assert/strict";
import { test } from "../_test.ts";
import { quiet } from "./client.ts";

test("GracefulShutdown: WebSockets are told with 1001, after the signal's listeners, and counted until closed", async () => {
  const shutdown = quiet();
  const events: string[] = [];
  const socket = Object.assign(new EventTarget(), { close: (code: number) => events.push(`close ${code}`) });
  const closed = shutdown.webSocket({ close: (code) => events.push(`bun ${code}`) }, "chat");
  shutdown.webSocket(socket);
  shutdown.signal.addEventListener("abort", () => events.push("farewell"));
  shutdown.request();
  assert.deepEqual(events, ["farewell", "bun 1001", "close 1001"]);
  assert.deepEqual(shutdown.labels, ["chat", "WebSocket"]);
  closed();
  closed();
  assert.deepEqual(shutdown.labels, ["WebSocket"]);
  shutdown.webSocket({ close: () => events.push("told late") })();
  assert.equal(events.at(-1), "told late");
  socket.dispatchEvent(new globalThis.Event("close"));
  assert.equal((await shutdown.finished).drained, true);
});

test("GracefulShutdown: WebSockets that don't close are cut; one that throws harms no other", async () => {
  const shutdown = quiet({ grace: 10 });
  const cut: string[] = [];
  const boom = new Error("boom");
  shutdown.webSocket({
    close() {
      throw boom;
    },
  }, "throws");
  shutdown.webSocket({ close() {}, terminate: () => cut.push("terminated") }, "stays");
  shutdown.request();
  const { remaining, errors } = await shutdown.finished;
  assert.deepEqual([remaining, cut], [["throws", "stays"], ["terminated"]]);
  assert.deepEqual(errors, [boom, boom]);
});

test("GracefulShutdown: a WebSocket that is added while others are told is told once, also if it throws", async () => {
  const shutdown = quiet();
  const boom = new Error("boom");
  const events: string[] = [];
  const throwing = () => {
    events.push("told");
    throw boom;
  };
  const late = { close: (code?: number) => void events.push(`late ${code}`) };
  const closes: (() => void)[] = [];
  closes.push(shutdown.webSocket({ close: () => void closes.push(shutdown.webSocket(late)) }));
  shutdown.request();
  closes.push(shutdown.webSocket({ close: throwing }));
  assert.deepEqual(events, ["late 1001", "told", "told"]); // with 1001, and then without
  for (const closed of closes) closed();
  const { drained, errors } = await shutdown.finished;
  assert.deepEqual([drained, errors], [true, [boom]]);
});

test("GracefulShutdown: the platform's own WebSocket, which knows no 1001, is closed", async () => {
  const shutdown = quiet();
  const codes: (number | undefined)[] = [];
  const socket = Object.assign(new EventTarget(), {
    close(code?: number) {
      codes.push(code);
      if (code !== undefined && code !== 1000) throw new DOMException("not that one", "InvalidAccessError");
      socket.dispatchEvent(new globalThis.Event("close"));
    },
  });
  shutdown.webSocket(socket);
  shutdown.request();
  const { drained, errors } = await shutdown.finished;
  assert.deepEqual([drained, errors, codes], [true, [], [1001, undefined]]);
});

test("GracefulShutdown: WebSockets from a listener of its signal are told once, closed ones are not waited for", async () => {
  const shutdown = quiet({ grace: Infinity });
  const events: string[] = [];
  const socket = (name: string) => ({ readyState: 1, close: (code?: number) => void events.push(`${name} ${code}`) });
  const closes: (() => void)[] = [shutdown.webSocket(socket("early"))];
  shutdown.signal.addEventListener("abort", () => closes.push(shutdown.webSocket(socket("late"))));
  shutdown.webSocket({ ...socket("closed"), readyState: 3 });
  shutdown.request();
  await Promise.resolve();
  assert.deepEqual(events, ["early 1001", "late 1001"]);
  for (const closed of closes) closed();
  assert.equal((await shutdown.finished).drained, true);
});

test("GracefulShutdown: a WebSocket that opens after the signal, and calls back in its close, can end its counting", async () => {
  const shutdown = quiet({ grace: 50 });
  shutdown.track(Promise.resolve());
  shutdown.request();
  let closed: () => void = () => assert.fail("called back before the function was returned");
  closed = shutdown.webSocket({ readyState: 1, close: () => closed() }); // Bun's, stored in its data
  assert.deepEqual((await shutdown.finished).errors, []);
});
