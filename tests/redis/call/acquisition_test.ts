/** One waiting call: the moments at which it asks, and its reading of the answers. */
import assert from "node:assert/strict";
import { type Backend, RedisLock, RedisSemaphore } from "../../../lib/redis/mod.ts";
import { test } from "../../_test.ts";
import { CountingController, deferred, flushMicrotasks, watch } from "../../_tools.ts";
import { until } from "../_clients.ts";
import { fakeTimeTest, nothing, queuedReply, scripted, serverTime } from "../_scripted.ts";

/** A scripted server whose messages the test sends. */
function pushing(answer: Parameters<typeof scripted>[0]): { backend: Backend; push: (message: string) => void } {
  let listener = (_: string) => {};
  const subscribe: Backend["subscribe"] = (_, onMessage) => {
    listener = onMessage;
    return Promise.resolve(() => {});
  };
  return { backend: { ...scripted(answer), subscribe }, push: (message) => listener(message) };
}

for (const [ttl, beat] of [[3000, 1000], [9000, 3000], [300, 100]] as const) {
  fakeTimeTest(`without push, a waiter asks each ${beat} ms with a ttl of ${ttl} ms`, async (time) => {
    const sent: number[] = [];
    const backend = scripted((command) => {
      if (command !== "acquire") return;
      sent.push(performance.now());
      return queuedReply();
    });
    const controller = new AbortController();
    const call = assert.rejects(new RedisLock(backend, "a", { ttl }).acquire({ signal: controller.signal }));
    await time.pass(3 * (beat + 110), 1);
    for (let i = 1; i < 4; i++) {
      const pause = sent[i]! - sent[i - 1]!;
      assert.ok(pause >= beat && pause <= beat + 110, `${pause} ms`);
    }
    controller.abort();
    await call;
    await flushMicrotasks();
  });
}

test("an answer of another shape is no grant", async () => {
  const answers = ["OK", 1, [], [1], [7, 7], [1, 0], [1, 7.5], [1, "x"], [1, -7], {}, true];
  const refused = { name: "RedisError", message: /^Cannot acquire lock "a": / };
  await Promise.all(answers.map(async (answer) => {
    const backend = scripted((command) => command === "acquire" || command === "adopt" ? answer : undefined);
    const lock = new RedisLock(backend, "a", { ttl: 10 }); // for which it tries
    await assert.rejects(lock.tryAcquire(), refused, JSON.stringify(answer));
    await assert.rejects(lock.adopt("id"), refused, JSON.stringify(answer));
    await assert.rejects(lock.acquire({ timeout: 0 }), { name: "TimeoutError" }, JSON.stringify(answer));
  }));
});

test("waiters with one signal share one listener, which goes with the last of them", async () => {
  let held = false;
  const lock = new RedisLock(
    scripted((command) => {
      if (command === "acquire" && held) return queuedReply();
    }),
    "a",
  );
  const shared = new CountingController();
  const lease = await lock.acquire({ signal: shared.signal });
  assert.equal(shared.listeners, 0);
  held = true;
  const [one, two] = [new CountingController(), new CountingController()];
  const waiting = [shared, shared, one, shared, two].map(({ signal }) => assert.rejects(lock.acquire({ signal })));
  assert.deepEqual([shared.listeners, shared.added, one.listeners], [1, 2, 1]);
  one.abort();
  assert.deepEqual([shared.listeners, one.listeners, two.listeners], [1, 0, 1]);
  shared.abort();
  two.abort();
  await Promise.all(waiting);
  assert.deepEqual([shared.listeners, two.listeners], [0, 0]);
  await lease.release();
});

test("a call that is cancelled while Redis refuses leaves the queue as soon as it can", async () => {
  for (const refusal of ["NOPERM this user has no permissions", "NOREPLICAS Not enough good replicas to write."]) {
    let [refuses, asked, released] = [false, false, false];
    const backend = scripted((command) => {
      if (refuses) throw new Error(refusal);
      if (command === "release") released = true;
      if (command !== "acquire") return;
      asked = true;
      return queuedReply();
    });
    const controller = new AbortController();
    const call = assert.rejects(new RedisLock(backend, "a").acquire({ signal: controller.signal }));
    await until(() => asked);
    await flushMicrotasks(); // it stands in line
    refuses = true;
    controller.abort();
    await call;
    await flushMicrotasks();
    refuses = false;
    await until(() => released);
  }
});

test("a call waits out a refusal that may pass", async () => {
  const refusals = [
    "NOREPLICAS Not enough good replicas to write.",
    "ERR max number of clients reached",
    // Redis 6
    "ERR Error running script (call to f_d16): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.",
  ];
  for (const refusal of refusals) {
    let left = 2;
    const backend = scripted((command) => {
      if (command === "acquire" && left-- > 0) throw new Error(refusal);
    });
    const lease = await new RedisLock(backend, "a").acquire({ timeout: 20_000 });
    assert.equal(await lease.release(), true);
  }
});

fakeTimeTest("a message before the first answer does not put off the next command", async (time) => {
  const asked: string[] = [];
  const { backend, push } = pushing((command, [member = ""]) => {
    if (command !== "acquire") return;
    const [id = ""] = member.split(" ");
    asked.push(id);
    if (id === asked[0]) return queuedReply();
    if (asked.filter((other) => other === id).length === 1) throw new Error("the connection is lost");
  });
  const controller = new AbortController();
  const waiter = assert.rejects(new RedisLock(backend, "a").acquire({ signal: controller.signal }));
  await flushMicrotasks();
  const call = watch(new RedisLock(backend, "b").acquire({ timeout: 10_000 }));
  await flushMicrotasks();
  push(`${asked.at(-1)} 1`);
  time.advance(1000);
  await flushMicrotasks();
  assert.equal(call.value?.held, true);
  await call.value!.release();
  controller.abort();
  await waiter;
  await flushMicrotasks();
  time.advance(10_000); // the subscription lingers, and the command without an answer may run late
  await flushMicrotasks();
});

fakeTimeTest("a grant that overtakes the first answer is taken, and needs no further command", async (time) => {
  const asked: string[] = [];
  const answer = deferred<unknown>();
  const { backend, push } = pushing((command, [member = ""]) => {
    if (command === "acquire") return asked.push(member.slice(0, 21)) > 2 ? answer.promise : queuedReply();
  });
  const controller = new AbortController();
  const waiter = assert.rejects(new RedisLock(backend, "a").acquire({ signal: controller.signal })); // it subscribes
  await flushMicrotasks();
  const call = watch(new RedisLock(backend, "b").acquire());
  await flushMicrotasks();
  push(`${asked.at(-1)} ${serverTime() + 1}`);
  answer.resolve(queuedReply());
  await flushMicrotasks();
  assert.deepEqual([call.value?.held, asked.length], [true, 3]);
  await call.value!.release();
  controller.abort();
  await waiter;
  await time.pass(10_000, 100);
});

/** The second command, its answer, and when the grant arrives that answers the first one, whose limit is 3 s. */
const LATE = [
  { what: "before the second command", grantAt: 3000, commands: 1, answer: nothing },
  { what: "while the second command has no answer", grantAt: 3500, commands: 2, answer: nothing },
  { what: "before the second command is refused", grantAt: 3500, commands: 2, answer: [-2] },
];

for (const { what, grantAt, commands, answer } of LATE) {
  fakeTimeTest(`a grant that comes late, ${what}, is taken`, async (time) => {
    const first = deferred<unknown>();
    let sent = 0;
    const backend = scripted((command) => {
      if (command === "acquire") return ++sent === 1 ? first.promise : time.pass(1000).then(() => answer);
    });
    const call = watch(new RedisLock(backend, "a", { ttl: 9000 }).acquire({ timeout: 60_000 }));
    await time.pass(grantAt);
    first.resolve([1, 77]);
    await flushMicrotasks();
    assert.equal(sent, commands);
    await time.pass(3000);
    assert.deepEqual([call.value?.fencingToken, call.value?.held], [77, true]);
    await time.pass(9000); // it is renewed
    assert.equal(await call.value!.release(), true);
    await time.pass(10_000); // also the release in the background
  });
}

fakeTimeTest("a grant that comes after its own end is not taken", async (time) => {
  const first = deferred<unknown>();
  let sent = 0;
  const backend = scripted((command) => {
    if (command === "acquire" && sent++ >= 0) return sent === 1 ? first.promise : nothing;
  });
  const call = watch(new RedisLock(backend, "a", { ttl: 900 }).acquire({ timeout: 1800 }));
  await time.pass(1390);
  first.resolve([1, 77]);
  await time.pass(500);
  assert.equal(call.state, "rejected");
  await time.pass(5000);
});

fakeTimeTest("a grant that is pushed after a pause longer than the ttl is checked first", async (time) => {
  let free = false;
  const asked: string[] = [];
  const { backend, push } = pushing((command, [member = ""]) => {
    if (command === "acquire" && asked.push(member.slice(0, 21)) > 0 && !free) return queuedReply();
  });
  const call = watch(new RedisLock(backend, "a", { ttl: 3000 }).acquire());
  await flushMicrotasks();
  const commands = asked.length;
  free = true;
  setTimeout(() => push(`${asked[0]} ${serverTime()}`), 1); // before any other timer
  time.block(4000);
  await flushMicrotasks();
  assert.equal(asked.length, commands + 1);
  assert.deepEqual([call.state, call.value?.held], ["fulfilled", true]);
  assert.equal(await call.value!.release(), true);
  await time.pass(2000, 100);
});

fakeTimeTest("a semaphore's waiter that has missed its grant has the next waiter ask at once", async (time) => {
  const ids: string[] = [];
  let free = false;
  const backend = scripted((command, [member = ""]) => {
    if (command !== "acquire") return;
    const id = member.slice(0, 21);
    if (!ids.includes(id)) ids.push(id);
    return free ? [1, serverTime()] : queuedReply({ position: ids.indexOf(id) + 1 });
  });
  const semaphore = new RedisSemaphore(backend, "a", 2, { ttl: 3000 });
  const first = watch(semaphore.acquire());
  await time.pass(500);
  const second = watch(semaphore.acquire());
  await time.pass(400);
  free = true;
  await time.pass(250); // only the heartbeat of the first is due
  assert.deepEqual([first.state, second.state], ["fulfilled", "fulfilled"]);
  for (const { value } of [first, second]) assert.equal(await value!.release(), true);
});
