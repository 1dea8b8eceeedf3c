/** When a connection of node:http counts as idle: after so many looks in a row that found it silent. */
import assert from "node:assert/strict";
import { Connection, Exchange } from "../../lib/shutdown/node/http1.ts";
import type { Incoming, Outgoing, SocketLike } from "../../lib/shutdown/node/shapes.ts";
import { shutdownSettings } from "../../lib/shutdown/options.ts";
import { ShutdownState } from "../../lib/shutdown/shutdown_state.ts";
import { test } from "../_test.ts";

class Socket {
  destroyed = false;
  bytesRead = 0;
  get writableEnded(): boolean {
    return this.ends > 0;
  }
  ends = 0;
  on(): void {}
  end(): void {
    this.ends++;
  }
}

/** A connection whose idle time is 50 ms, which are five looks. */
function connected(idle = 50) {
  const socket = new Socket();
  const state = new ShutdownState(shutdownSettings({ idle }));
  const connection = new Connection(state, socket as unknown as SocketLike);
  const look = (times: number) => {
    for (let i = 0; i < times; i++) connection.endIfSilent(false);
    return socket.ends;
  };
  const request = () =>
    new Exchange(connection, { method: "GET", url: "/", complete: true } as Incoming, {} as Outgoing);
  return { socket, look, request };
}

test("idle: a new connection may be silent for twice the time, if that is short", () => {
  const { look } = connected();
  assert.deepEqual([look(10), look(1), look(5)], [0, 1, 1]);
  const long = connected(1_000);
  assert.deepEqual([long.look(100), long.look(1)], [0, 1]);
});

test("idle: a request begins the time anew, with its beginning and with its end", () => {
  const { look, request } = connected();
  assert.equal(look(9), 0);
  const first = request();
  assert.equal(look(20), 0);
  first.end();
  assert.equal(look(5), 0);
  request().end(); // between two looks
  assert.deepEqual([look(5), look(1)], [0, 1]);
});

test("idle: a head of which some bytes have come has a second after its last byte", () => {
  const { look, request, socket } = connected();
  request().end();
  assert.equal(look(5), 0);
  for (socket.bytesRead = 1; socket.bytesRead < 4; socket.bytesRead++) assert.equal(look(100), 0);
  assert.deepEqual([look(100), look(1)], [0, 1]);
});

test("idle: bytes of requests that are over are no head", () => {
  const { look, request, socket } = connected();
  const first = request();
  socket.bytesRead = 7;
  first.end();
  assert.deepEqual([look(5), look(1)], [0, 1]);
});

test("idle: of several requests, any may end first", () => {
  const { look, request } = connected();
  const [one, two, three] = [request(), request(), request()];
  two.end();
  three.end();
  assert.equal(look(20), 0);
  one.end();
  assert.deepEqual([look(5), look(1)], [0, 1]);
});
