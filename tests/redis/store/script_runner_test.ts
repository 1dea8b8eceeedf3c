/** Running one script: what is sent in full, and when. */
import assert from "node:assert/strict";
import { type Backend, RedisLock } from "../../../lib/redis/mod.ts";
import { type Script, script } from "../../../lib/redis/scripts/script.ts";
import { SentCommand } from "../../../lib/redis/store/commands.ts";
import { ScriptRunner } from "../../../lib/redis/store/script_runner.ts";
import { test } from "../../_test.ts";
import { flushMicrotasks, watch, withFakeTime } from "../../_tools.ts";
import { altered } from "../_altered.ts";
import { computeDigests, nothing, scripted } from "../_scripted.ts";
import { commandOf } from "../_command_of.ts";

const SCRIPT: Script = { ...script("return 1"), sha: "0" };
const NOSCRIPT = new Error("NOSCRIPT No matching script. Please use EVAL.");

for (const [settled, sent] of [[false, 1], [true, 0]] as const) {
  test(`ScriptRunner: a script that the server reports as unknown is sent in full ${sent} times, settled: ${settled}`, async () => {
    let inFull = 0;
    const runner = new ScriptRunner({ evalsha: () => Promise.reject(NOSCRIPT), eval: () => Promise.resolve(++inFull) });
    const call = { settled: false, unanswered: () => {} };
    const answer = watch(runner.run(SCRIPT, ["a"], [], new SentCommand(1000, call)));
    call.settled = settled;
    await flushMicrotasks();
    assert.equal(inFull, sent); // later it could arrive after the command that cancels this one
    if (settled) assert.equal(answer.reason, NOSCRIPT);
    else assert.equal(answer.value, 1);
  });
}

test("ScriptRunner: a command's moment and its limit count from when the client takes it", () =>
  withFakeTime(async (time) => {
    let failure: unknown;
    const command = new SentCommand(1000, { unanswered: ({ at }) => failure = runner.silence(at) });
    let handOver!: () => void;
    const portions = {
      send: <T>(send: () => Promise<T>) => new Promise<T>((resolve) => handOver = () => resolve(send())),
    };
    const run = () => nothing;
    const runner = new ScriptRunner({ evalsha: run, eval: run }, portions);
    void runner.run(SCRIPT, ["a"], [], command);
    await time.pass(5000);
    handOver();
    assert.equal(command.at, performance.now());
    await time.pass(990);
    assert.equal(failure, undefined);
    await time.pass(20);
    assert.match(String(failure), /has not answered for 1000 ms/);
  }));

/** Sends more commands in this step of the event loop than a client gets in one step. */
const fill = (backend: Backend) =>
  Array.from({ length: 20 }, (_, i) => new RedisLock(backend, `filling ${i}`).tryAcquire());

test("ScriptRunner: a call that ends before the client takes its command sends nothing, and no release", async () => {
  await computeDigests();
  const sent: string[] = [];
  const backend = scripted((command, args) =>
    void sent.push(command === "acquire" ? args[0]!.split(" ")[0]! : command)
  );
  await (await new RedisLock(backend, "loads the scripts").acquire()).release();
  const filling = fill(backend);
  sent.length = 0;
  const controllers = Array.from({ length: 3 }, () => new AbortController());
  const calls = controllers.map(({ signal }) => watch(new RedisLock(backend, "a").acquire({ signal })));
  controllers[1]!.abort();
  const leases = await Promise.all(filling);
  await flushMicrotasks();
  assert.deepEqual(calls.map(({ state }) => state), ["fulfilled", "rejected", "fulfilled"]);
  const ids = [...leases, calls[0]!.value, calls[2]!.value].map((lease) => lease!.id);
  assert.deepEqual(sent, ids.slice(-sent.length));
  await Promise.all([...leases, calls[0]!.value, calls[2]!.value].map((lease) => lease!.release()));
});

test("ScriptRunner: a renewal does not wait behind a burst", async () => {
  await computeDigests();
  const sent: string[] = [];
  const backend = scripted((command) => void sent.push(command));
  const lease = await new RedisLock(backend, "a").acquire();
  await lease.extend();
  sent.length = 0;
  const filling = fill(backend);
  await Promise.all([lease.extend(), ...filling]);
  assert.ok(sent.indexOf("renew") < sent.lastIndexOf("acquire"), sent.join(" "));
  for (const one of [lease, ...await Promise.all(filling)]) await one!.release();
});

test("ScriptRunner: a burst sends a script that the server does not know in full once", async () => {
  let known = false;
  const sent: string[] = [];
  const runner = new ScriptRunner({
    evalsha: async () => {
      const isKnown = known;
      await Promise.resolve(sent.push("sha"));
      if (!isKnown) throw NOSCRIPT;
    },
    eval: async () => await Promise.resolve(known = sent.push("full") > 0),
  });
  const burst = () => Promise.all(Array.from({ length: 3 }, () => runner.run(SCRIPT, ["a"], [])));
  for (let i = 0; i < 2; i++) {
    known = false;
    sent.length = 0;
    await burst();
    assert.deepEqual(sent, ["sha", "sha", "sha", "full", "sha", "sha"]);
  }
});

test("ScriptRunner: the cause of an error that a closed client gives shows no arguments", async () => {
  const command = { name: "evalsha", args: ["a secret"] };
  const reject = () => Promise.reject(Object.assign(new Error("Connection is closed."), { command }));
  const runner = new ScriptRunner({ evalsha: reject, eval: reject, closed: true });
  await assert.rejects(runner.run(SCRIPT, ["a"], []), ({ cause }: Error) => {
    assert.deepEqual((cause as { command: unknown }).command, { name: "evalsha" });
    return true;
  });
});

for (const cluster of [false, true]) {
  test(`RedisStore: release scripts are ${cluster ? "not " : ""}loaded ahead ${cluster ? "in a cluster" : "on one server"}`, async () => {
    await computeDigests();
    const commands: string[] = [];
    const backend = { ...scripted((command) => void commands.push(command)), cluster };
    await (await new RedisLock(backend, "a").acquire()).release();
    assert.deepEqual(commands, ["acquire", ...cluster ? [] : ["load"], "release"]); // without keys, any node may get it
  });
}

for (const cluster of [false, true]) {
  test(`RedisStore: a release that is sent again names ${cluster ? "only the keys of its hold" : "all keys"}${cluster ? " in a cluster" : ""}`, () =>
    withFakeTime(async (time) => {
      await computeDigests();
      const named: number[] = [];
      const usual = { ...scripted(() => undefined), cluster };
      const backend = altered(usual, async (run, keys, args) => {
        if (commandOf(keys, args) === "release" && named.push(keys.length) === 1) {
          throw new Error("Connection is closed.");
        }
        return await run();
      });
      const released = watch((await new RedisLock(backend, "a").acquire()).release());
      await time.pass(100);
      assert.deepEqual([released.value, named], [true, [3, cluster ? 1 : 3]]); // its queue may be moving
    }));
}

test("RedisStore: a release that is sent again because its slot is open has its whole time again", () =>
  withFakeTime(async (time) => {
    await computeDigests();
    const named: number[] = [];
    const usual = { ...scripted((command) => command === "verify" ? nothing : undefined), cluster: true };
    const backend = altered(usual, async (run, keys, args) => {
      if (commandOf(keys, args) !== "release") return await run();
      const isFirst = named.push(keys.length) === 1;
      await new Promise((resolve) => setTimeout(resolve, isFirst ? 900 : 200));
      if (isFirst) throw new Error("TRYAGAIN Multiple keys request during rehashing of slot");
      return await run();
    });
    const other = await new RedisLock(backend, "b").acquire();
    const verified = watch(other.verify()); // of another node, which is silent
    const released = watch((await new RedisLock(backend, "a", { ttl: 3000 }).acquire()).release());
    await time.pass(1150);
    assert.deepEqual([released.value, named], [true, [3, 1]]);
    await time.pass(5000);
    assert.equal(verified.state, "rejected");
    const last = watch(other.release());
    await time.pass(200);
    assert.equal(last.value, true);
  }));
