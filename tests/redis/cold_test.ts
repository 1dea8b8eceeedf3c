/** Leases over a slow connection, of clients whose server knows no script. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type Backend, RedisLock } from "../../lib/redis/mod.ts";
import { watch } from "../_tools.ts";
import { fakeTimeTest, scripted } from "./_scripted.ts";

/** A server that is 150 ms away. It knows the scripts that were sent in full, in whichever form. */
function farServer() {
  const known = new Set<string>();
  const usual = scripted(() => undefined);
  const away = () => new Promise((resolve) => setTimeout(resolve, 150));
  const backend: Backend = {
    async evalsha(sha, keys, args) {
      await away();
      const isKnown = known.has(sha);
      await away();
      if (!isKnown) throw new Error("NOSCRIPT No matching script. Please use EVAL.");
      return await usual.evalsha(sha, keys, args);
    },
    async eval(script, keys, args) {
      await away();
      known.add(createHash("sha1").update(script).digest("hex"));
      await away();
      return await usual.eval(script, keys, args);
    },
  };
  return { known, backend };
}

/** Milliseconds after an acquire: at other times, no time would be left for one round trip after the reconnection. */
for (const lostAt of [650, 850, 950]) {
  fakeTimeTest(
    `150 ms away, a lease of 1,000 ms outlasts a loss of connection and scripts at ${lostAt} ms`,
    async (time) => {
      const { known, backend } = farServer();
      let connection = { since: -Infinity };
      let whenConnected: Promise<unknown> = Promise.resolve();
      const client: Backend = {
        evalsha: (...command) => whenConnected.then(() => backend.evalsha(...command)),
        eval: (...command) => whenConnected.then(() => backend.eval(...command)),
        get connection() {
          return connection;
        },
      };
      const call = watch(new RedisLock(client, "a", { ttl: 1000 }).acquire());
      await time.pass(lostAt);
      known.clear();
      const next = connection = { since: -Infinity };
      whenConnected = new Promise<void>((resolve) => setTimeout(resolve, 300))
        .then(() => next.since = performance.now());
      await time.pass(3000);
      assert.equal(call.value!.signal.aborted, false);
      const released = watch(call.value!.release());
      await time.pass(350);
      assert.equal(released.value, true);
    },
  );
}

for (const ttl of [1000, 2000]) {
  fakeTimeTest(`150 ms away, a cold client keeps leases of ${ttl} ms, also after SCRIPT FLUSH`, async (time) => {
    const { known, backend } = farServer();
    const lock = new RedisLock(backend, "a", { ttl });
    for (let i = 0; i < 2; i++) {
      const call = watch(lock.acquire());
      await time.pass(650);
      const lease = call.value!;
      const rest = lease.expiresAt - Date.now();
      assert.ok(rest > ttl - 400, `only ${rest} ms are left`);
      await time.pass(5 * ttl);
      assert.equal(lease.signal.aborted, false);
      const released = watch(lease.release());
      await time.pass(650);
      assert.equal(released.value, true);
      known.clear();
    }
  });
}

fakeTimeTest("150 ms away, the first renewal takes one round trip if there is time for no more", async (time) => {
  const call = watch(new RedisLock(farServer().backend, "a", { ttl: 1000 }).acquire());
  await time.pass(650);
  const { expiresAt } = call.value!;
  await time.pass(400);
  assert.ok(call.value!.expiresAt > expiresAt, "it is not renewed yet");
  const released = watch(call.value!.release());
  await time.pass(650);
  assert.equal(released.value, true);
});

/** A client that is connecting to that server. It sends its commands when the last of three greetings was answered. */
function greetingClient() {
  const { backend } = farServer();
  const connection = { since: performance.now(), heardAt: -Infinity };
  const greet = () =>
    new Promise<void>((resolve) => setTimeout(resolve, 300)).then(() => connection.heardAt = performance.now());
  const greeted = greet().then(greet).then(greet).then(() => connection.since = performance.now());
  const client: Backend = {
    connection,
    evalsha: (...command) => greeted.then(() => backend.evalsha(...command)),
    eval: (...command) => greeted.then(() => backend.eval(...command)),
  };
  return { client, backend };
}

fakeTimeTest("a command waits for a long greeting while the server answers that", async (time) => {
  const call = watch(new RedisLock(greetingClient().client, "a", { ttl: 700 }).acquire());
  await time.pass(1250);
  assert.equal(call.value!.held, true);
  const released = watch(call.value!.release());
  await time.pass(650);
  assert.equal(released.value, true);
});

fakeTimeTest("a call without limits fails one ttl after the last answer to a greeting", async (time) => {
  const { client, backend } = greetingClient();
  backend.eval = () => new Promise(() => {});
  const call = watch(new RedisLock(client, "a", { ttl: 700 }).acquire());
  await time.pass(1590);
  assert.equal(call.state, "pending");
  await time.pass(30);
  assert.match(String(call.reason), /Redis has not answered for/);
  await time.pass(5000); // it also cancels its call
});
