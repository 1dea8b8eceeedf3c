/** No password, and no argument of a client's command, in what is printed or thrown. */
import assert from "node:assert/strict";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { inspect } from "node:util";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { createClient } from "redis";
import { createClient as createClient5 } from "redis5";
import { type Backend, ioRedis, nodeRedis, RedisError, RedisLock } from "../../lib/redis/mod.ts";
import { leakIn, PASSWORD } from "../_secrets.ts";
import { test } from "../_test.ts";
import { closeIo, ending } from "./_clients.ts";
import { Server } from "./_server.ts";

const RIGHT = `${PASSWORD}-right`;
const WRONG = `${PASSWORD}-wrong`;

/** What `fn` prints. */
async function printed(fn: () => Promise<void>): Promise<string> {
  const lines: string[] = [];
  const { error, warn, log } = console;
  console.error = console.warn = console.log = (...parts: unknown[]) => void lines.push(inspect(parts, { depth: 9 }));
  try {
    await fn();
  } finally {
    Object.assign(console, { error, warn, log });
  }
  return lines.join("\n");
}

/** All errors of a lock's calls, as they would be printed and as they would be sent to a log. */
async function errorsOf(backend: Backend): Promise<string> {
  const lock = new RedisLock(backend, "orders", { ttl: 300 });
  const calls = [() => lock.acquire(), () => lock.tryAcquire(), () => lock.acquire({ timeout: 200 })];
  const texts: string[] = [];
  for (const call of [...calls, () => lock.inspect(), () => lock.forceRelease()]) {
    const error = await call().then(() => assert.fail("it was granted"), (error: Error) => error);
    assert.ok(error instanceof RedisError || error.name === "TimeoutError", inspect(error));
    const { cause } = error;
    texts.push(inspect(error, { depth: 9, showHidden: true }), JSON.stringify(error), JSON.stringify(cause) ?? "");
  }
  return texts.join("\n");
}

const wrong = { password: WRONG, lazyConnect: true, retryStrategy: () => 50 };
const io = [[6, (port: number) => new Redis(port, wrong)], [5, (port: number) => new Redis5(port, wrong)]] as const;

for (const [version, create] of io) {
  test(`ioredis ${version}: a password that is refused is in no log and no error`, async () => {
    await using server = await Server.start("--requirepass", RIGHT);
    const out = await printed(async () => {
      const client = create(server.port);
      await using _ = ending(() => closeIo(client));
      const errors = await errorsOf(ioRedis(client));
      assert.match(errors, /WRONGPASS/);
      console.log(errors);
    });
    assert.match(out, /Unhandled error event/, "the application has no listener");
    for (const secret of [WRONG, RIGHT, "evalsha sha"]) assert.ok(!out.includes(secret), out);
  });
}

const settings = (url: string) => ({
  url: url.replace(PASSWORD, WRONG),
  socket: { reconnectStrategy: false as const },
});
const node = [
  [6, (url: string) => createClient(settings(url))],
  [5, (url: string) => createClient5(settings(url))],
] as const;

for (const [version, create] of node) {
  test(`node-redis ${version}: a password that is refused is in no error`, async () => {
    await using server = await Server.start("--requirepass", RIGHT);
    const out = await printed(async () => {
      const client = create(server.url);
      await using _ = ending(() => client.isOpen && client.destroy());
      client.on("error", () => {});
      client.connect().catch(() => {});
      console.log(await errorsOf(nodeRedis(client)));
    });
    for (const secret of [WRONG, RIGHT]) assert.ok(!out.includes(secret), out);
  });
}

/** Answers as Redis does to a command that it does not know, such as AUTH for an old Sentinel. */
async function startUnknowing(): Promise<AsyncDisposable & { readonly port: number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (data) => {
      for (const [, command] of String(data).matchAll(/\*\d+\r\n((?:\$\d+\r\n.*\r\n)+)/g)) {
        const [name, ...args] = [...command!.matchAll(/\$\d+\r\n(.*)\r\n/g)].map(([, part]) => `'${part}'`);
        socket.write(`-ERR unknown command ${name}, with args beginning with: ${args.join(" ")} \r\n`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return { port: (server.address() as AddressInfo).port, ...ending(close) };
}

for (const [version, create] of io) {
  test(`ioredis ${version}: a password that the server quotes in its answer is in no log and no error`, async () => {
    await using server = await startUnknowing();
    const out = await printed(async () => {
      const client = create(server.port);
      await using _ = ending(() => closeIo(client));
      const errors = await errorsOf(ioRedis(client));
      assert.match(errors, /unknown command/);
      console.log(errors);
    });
    assert.match(out, /Unhandled error event/, "the application has no listener");
    assert.ok(!out.includes(WRONG), out);
  });
}

/** What the client's options would look like in an error. */
const leaking = (): Promise<never> => Promise.reject(new Error("no", { cause: { options: { password: PASSWORD } } }));

test("the watch over all suites finds a password in an error, and does not repeat it", async () => {
  for (const call of [() => leaking, () => leaking()]) {
    const found = await assert.rejects(call(), /no/).then(() => assert.fail("not found"), (error: Error) => error);
    assert.match(found.message, /a password shows in an error: Error: no/);
    assert.equal(leakIn(found), undefined);
  }
  await assert.rejects(() => Promise.reject(new Error("no secret")), /no secret/);
});
