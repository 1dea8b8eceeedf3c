import assert from "node:assert/strict";
import { trace } from "../../lib/diagnostics/mod.ts";
import type { TraceEvent, TraceJson } from "../../lib/diagnostics/mod.ts";
import { test } from "../_test.ts";
import { withFakeTime } from "../_tools.ts";
import { Thing } from "./_tools.ts";

/** Whether it is what the trace-event format's document asks for, as far as these kinds of events are concerned. */
function checkFormat(json: TraceJson): void {
  assert.deepEqual(JSON.parse(JSON.stringify(json)), json, "survives JSON");
  const arrows = new Map<number, string>();
  const slices = new Map<string, TraceEvent[]>();
  for (const event of json.traceEvents) {
    for (const field of ["pid", "tid", "ts"] as const) assert.ok(Number.isSafeInteger(event[field]), field);
    assert.ok(event.name !== "" && event.cat !== "");
    const row = `${event.pid}/${event.tid}`;
    if (event.ph === "X") {
      assert.ok(Number.isSafeInteger(event.dur) && event.dur! >= 0);
      slices.set(row, [...slices.get(row) ?? [], event]);
    } else if (event.ph === "M") {
      assert.ok(["process_name", "thread_name"].includes(event.name));
      assert.equal(typeof event.args?.["name"], "string");
    } else {
      arrows.set(event.id!, (arrows.get(event.id!) ?? "") + event.ph);
      if (event.ph === "f") assert.equal(event.bp, "e");
    }
  }
  assert.ok([...arrows.values()].every((ends) => ends === "sf"), "every arrow has two ends");
  for (const row of slices.values()) {
    row.sort((a, b) => a.ts - b.ts);
    for (const [i, { ts }] of row.entries()) {
      if (i > 0) assert.ok(ts >= row[i - 1]!.ts + row[i - 1]!.dur!, "slices of a row do not overlap");
    }
  }
  const named = new Set(json.traceEvents.filter(({ name }) => name === "thread_name").map((e) => `${e.pid}/${e.tid}`));
  assert.deepEqual([...slices.keys()].filter((row) => !named.has(row)), []);
}

function inWords({ traceEvents }: TraceJson): string[] {
  const processes = new Map(traceEvents.filter(({ name }) => name === "process_name").map((e) => [e.pid, e.args]));
  return traceEvents.filter(({ ph }) => ph !== "M").map(({ ph, name, ts, dur, pid, args }) =>
    [ph, processes.get(pid)!["name"], name, ts / 1000, dur === undefined ? "" : dur / 1000, args?.["end"] ?? ""]
      .join(" ").trim()
  );
}

test("trace: a slice for each wait and hold, an arrow for each hand-off, a track for each thing and key", () =>
  withFakeTime(async (time) => {
    await Promise.resolve();
    using recording = trace();
    const lock = new Thing("lock", "orders"), key = new Thing("key", "users", 42), first = {}, second = {}, third = {};
    lock.grant(first);
    lock.wait(second);
    lock.wait(third);
    time.advance(10);
    lock.release(first);
    lock.grant(second);
    key.grant(first);
    time.advance(5);
    lock.timeOut(third);
    lock.release(second);
    time.advance(1);
    const json = recording.toJSON();
    checkFormat(json);
    assert.deepEqual(inWords(json), [
      'X lock "orders" hold 0 10 released',
      'X lock "orders" wait 0 10 granted',
      'X lock "orders" wait 0 15 timeout',
      'X lock "orders" hold 10 5 released',
      'X lock "users" for key 42 hold 10 6 open',
      's lock "orders" hand-off 9.999',
      'f lock "orders" hand-off 10',
    ]);
    assert.deepEqual(json.otherData, { dropped: 0 });
    recording[Symbol.dispose]();
    time.advance(3);
    key.release(first);
    recording[Symbol.dispose]();
    assert.deepEqual(recording.toJSON(), json, "it stays as it was when it was disposed of");
  }));

test("trace: the oldest are dropped above the limit, and counted", () =>
  withFakeTime(async (time) => {
    await Promise.resolve();
    using recording = trace({ limit: 3 });
    const lock = new Thing("lock", "orders");
    let holder = {};
    lock.grant(holder);
    for (let i = 0; i < 5; i++) {
      const next = {};
      lock.wait(next);
      time.advance(1);
      lock.release(holder);
      lock.grant(next);
      holder = next;
    }
    const json = recording.toJSON();
    checkFormat(json);
    assert.deepEqual(inWords(json), [
      'X lock "orders" wait 3 1 granted',
      'X lock "orders" hold 4 1 released',
      'X lock "orders" wait 4 1 granted',
      'X lock "orders" hold 5 0 open',
      's lock "orders" hand-off 4.999',
      'f lock "orders" hand-off 5',
    ]);
    assert.equal(recording.dropped, 7);
    assert.deepEqual(json.otherData, { dropped: 7 });
  }));

test("trace: wrong limits are refused", () => {
  assert.throws(() => trace({ limit: 0 }), RangeError);
  assert.throws(() => trace({ limit: 1.5 }), RangeError);
  assert.throws(() => trace({ limit: "5" as never }), TypeError);
  assert.throws(() => trace(5 as never), TypeError);
});
