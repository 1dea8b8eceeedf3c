/** One waiting call: the moments at which it asks, and its reading of the answers. */
import assert from "node:assert/strict";
import { type Backend, type Lease, RedisLock, RedisSemaphore } from "../../../lib/redis/mod.ts";
import { test } from "../../_test.ts";
import { CountingController, deferred, flushMicrotasks, watch } from "../../_tools.ts";
import { until } from "../_clients.ts";
import { fakeTimeTest, nothing, queuedReply, scripted, serverTime } from "../_scripted.ts";

for (const [ttl, beat] of [[3000, 1000], [9000, 3000], [300, 100]] as const) {
  fakeTimeTest(`without push, a waiter asks each ${beat} ms with a ttl of ${ttl} ms`, async (time) => {
    {
      let queued = false;
      const sent: number[] = [];
      const backend = scripted((command) => {
        if (command !== "acquire" || !queued) return;
        sent.push(performance.now());
        return queuedReply();
      });
      const lock = new RedisLock(backend, "a", { ttl });
      await (await lock.acquire()).release();
      queued = true;
      const controller = new AbortController();
      const call = assert.rejects(lock.acquire({ signal: controller.signal }));
      for (let i = 0; sent.length < 4; i++) {
        assert.ok(i < 50 * beat);
        time.advance(1);
        await flushMicrotasks();
      }
      for (let i = 1; i < 4; i++) {
        const pause = sent[i]! - sent[i - 1]!;
        assert.ok(pause >= beat && pause <= beat + 110, `${pause} ms`);
      }
      controller.abort();
      await call;
      await flushMicrotasks();
    }
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
  let push: ((message: string) => void) | undefined;
  const asked: string[] = [];
  const backend: Backend = {
    ...scripted((command, [member = ""]) => {
      if (command !== "acquire") return;
      const [id = ""] = member.split(" ");
      asked.push(id);
      if (id === asked[0]) return queuedReply();
      if (asked.filter((other) => other === id).length === 1) throw new Error("the connection is lost");
    }),
    subscribe: (_, onMessage) => {
      push = onMessage;
      return Promise.resolve(() => {});
    },
  };
  const controller = new AbortController();
  const waiter = assert.rejects(new RedisLock(backend, "a").acquire({ signal: controller.signal }));
  await flushMicrotasks();
  let lease: Lease | undefined;
  const call = new RedisLock(backend, "b").acquire({ timeout: 10_000 }).then((granted) => lease = granted);
  await flushMicrotasks();
  push!(`${asked.at(-1)} 1`);
  time.advance(1000);
  await flushMicrotasks();
  assert.equal(lease?.held, true);
  await (await call).release();
  controller.abort();
  await waiter;
  await flushMicrotasks();
  time.advance(10_000); // the subscription lingers, and the command without an answer may run late
  await flushMicrotasks();
});

/** The second command, the reply to it, and when the grant arrives that is the reply to the first one; its time is 3 s. */
const LATE = [
  { what: "before the second command, is taken", grantAt: 3000, commands: 1, reply: () => nothing, held: true },
  {
    what: "while the second one gets no reply, is taken",
    grantAt: 3500,
    commands: 2,
    reply: () => nothing,
    held: true,
  },
  {
    what: "before the second one is refused, is taken",
    grantAt: 3500,
    commands: 2,
    reply: () => [-2],
    held: true,
  },
];

for (const { what, grantAt, commands, reply, held } of LATE) {
  fakeTimeTest(`a grant that comes late, ${what}`, async (time) => {
    const replies = [deferred<unknown>(), deferred<unknown>()];
    let sent = 0;
    const backend = scripted((command) => {
      if (command === "acquire" && sent++ >= 0) return replies[sent - 1]?.promise ?? nothing;
    });
    const controller = new AbortController();
    const call = watch(new RedisLock(backend, "a", { ttl: 9000 }).acquire({ signal: controller.signal }));
    await flushMicrotasks();
    assert.equal(sent, 1);
    const granted = [1, 77];
    await time.pass(grantAt);
    replies[0]!.resolve(granted);
    await flushMicrotasks();
    assert.equal(sent, commands);
    if (commands === 2) replies[1]!.resolve(reply());
    await time.pass(3000);
    assert.equal(call.state, held ? "fulfilled" : "pending");
    if (held) {
      assert.deepEqual([call.value!.fencingToken, call.value!.held], [77, true]);
      await time.pass(9000); // it is renewed
      assert.equal(await call.value!.release(), true);
    }
    controller.abort();
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
  await time.pass(890);
  const granted = [1, 77];
  await time.pass(500);
  first.resolve(granted);
  await time.pass(500);
  assert.equal(call.state, "rejected");
  await time.pass(5000);
});

fakeTimeTest("a grant that is pushed after a pause longer than the ttl is checked first", async (time) => {
  let push: ((message: string) => void) | undefined;
  let free = false;
  const asked: string[] = [];
  const backend: Backend = {
    ...scripted((command, [member = ""]) => {
      if (command === "acquire" && asked.push(member.slice(0, 21)) > 0 && !free) return queuedReply();
    }),
    subscribe: (_, onMessage) => {
      push = onMessage;
      return Promise.resolve(() => {});
    },
  };
  const call = watch(new RedisLock(backend, "a", { ttl: 3000 }).acquire());
  await flushMicrotasks();
  const commands = asked.length;
  free = true;
  setTimeout(() => push!(`${asked[0]} ${serverTime()}`), 1); // before any other timer
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
