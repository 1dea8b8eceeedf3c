/**
 * The same random programs, run by CPython's asyncio and by us, for asyncio.Queue, asyncio.TaskGroup and both together:
 * the same states after every move. `python3 tests/asyncio/record.py` records asyncio's again.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "../_test.ts";
import { type RecordedGroup, replayGroup } from "./_replay_group.ts";
import { type RecordedPipeline, replayPipeline } from "./_replay_pipeline.ts";
import { type RecordedQueue, replayQueue } from "./_replay_queue.ts";

interface Recorded {
  readonly moves: readonly string[];
  readonly trace: readonly string[];
}

function read<T>(file: string): T[] {
  const [header, ...lines] = readFileSync(new URL(file, import.meta.url), "utf8").trim().split("\n");
  assert.equal(lines.length, JSON.parse(header!).programs);
  return lines.map((line) => JSON.parse(line) as T);
}

/** The first move after which our state differs from asyncio's, in words. */
function difference({ moves, trace }: Recorded, ours: readonly string[]): string | undefined {
  const at = ours.findIndex((state, i) => state !== trace[i]);
  if (at < 0) return undefined;
  return [...moves.slice(0, at + 1).map((move, i) => `${move.padEnd(20)} ${trace[i]}`), `here: ${ours[at]}`].join("\n");
}

const queues = read<RecordedQueue>("./queue_traces.jsonl");
const groups = read<RecordedGroup>("./group_traces.jsonl");
const pipelines = read<RecordedPipeline>("./pipeline_traces.jsonl");

test("asyncio: 400 random programs of a Queue go the same way, move by move", async () => {
  for (const [seed, program] of queues.entries()) {
    const found = difference(program, await replayQueue(program));
    assert.equal(found, undefined, `program ${seed}, capacity ${program.capacity}: ${found}`);
  }
});

test("asyncio: 600 random programs of a TaskGroup go the same way, move by move", async () => {
  for (const [seed, program] of groups.entries()) {
    const found = difference(program, await replayGroup(program));
    assert.equal(found, undefined, `program ${seed}: ${found}`);
  }
});

test("asyncio: 200 random programs of producers and consumers in a TaskGroup go the same way, move by move", async () => {
  for (const [seed, program] of pipelines.entries()) {
    const found = difference(program, await replayPipeline(program));
    assert.equal(found, undefined, `program ${seed}, capacity ${program.capacity}: ${found}`);
  }
  const ends = pipelines.map(({ trace }) => trace.at(-1)!);
  for (const end of [/cancelled$/, /failed [01]$/, /failed [23]$/, /failed [01],[23]$/, /w\S*\b.* open$/]) {
    assert.ok(ends.some((one) => end.test(one)), `${end}`);
  }
});

test("asyncio: the programs of queues and groups go every way", () => {
  const moves = [...queues, ...groups].flatMap((program) => program.moves.map((move) => move.replace(/\d+/g, "n")));
  for (
    const move of [
      "n cancel",
      "n put",
      "n tryGet",
      "n taskDone",
      "n join",
      "start stubborn",
      "fail n",
      "clean n fail",
      "clean n swallow",
      "cancel",
      "throw",
    ]
  ) {
    assert.ok(moves.filter((one) => one === move).length > 50, move);
  }
  const ends = groups.map(({ trace }) => trace.at(-1)!.replace(/^\S* /, ""));
  for (const end of [/^ok$/, /^cancelled$/, /^failed \d+$/, /^failed \d+,/, /^failed block$/, /^failed block,\d/]) {
    assert.ok(ends.filter((one) => end.test(one)).length > 10, `${end}`);
  }
});

test("asyncio: a state of a queue or a group that differs is noticed", async () => {
  const wrong = queues[0]!.trace.with(-1, "different");
  assert.match(difference({ ...queues[0]!, trace: wrong }, await replayQueue(queues[0]!)) ?? "", /here: /);
  const other = groups[0]!.trace.with(0, "different");
  assert.match(difference({ ...groups[0]!, trace: other }, await replayGroup(groups[0]!)) ?? "", /here: /);
});
