/**
 * The same random programs, run by CPython's asyncio and by us, end in the same states after every move. asyncio's
 * states are kept as data; `python3 tests/asyncio/record.py` records it again.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "../_test.ts";
import { Group } from "./_group.ts";
import { Pipeline } from "./_pipeline.ts";
import { primitives, type RecordedPrimitives } from "./_primitives.ts";
import { ofQueue, type RecordedQueue } from "./_queue.ts";
import { difference, type Program, type Recorded } from "./_replay.ts";

function read<T extends Recorded>(file: string): T[] {
  const [header, ...lines] = readFileSync(new URL(file, import.meta.url), "utf8").trim().split("\n");
  assert.equal(lines.length, JSON.parse(header!).programs);
  return lines.map((line) => JSON.parse(line) as T);
}

/** Registers a test that all programs go as they did with asyncio, and one that a difference would be noticed. */
function goTheSameWay<T extends Recorded>(what: string, programs: readonly T[], make: (program: T) => Program): void {
  test(`asyncio: ${programs.length} random programs ${what} go the same way, move by move`, async () => {
    for (const [seed, program] of programs.entries()) {
      const found = await difference(make(program), program);
      assert.equal(found, undefined, `program ${seed}, ${JSON.stringify(program).slice(0, 100)}: ${found}`);
    }
  });

  test(`asyncio: a state of programs ${what} that differs is noticed`, async () => {
    for (const program of programs.slice(0, 20)) {
      const trace = program.trace.with(-1, program.trace.at(-1)!.replace(/.$/, (last) => last === "0" ? "1" : "0"));
      assert.match(await difference(make(program), { ...program, trace }) ?? "", /here: /);
    }
  });
}

const all = read<RecordedPrimitives>("./traces.jsonl");
const queues = read<RecordedQueue>("./queue_traces.jsonl");
const groups = read<Recorded>("./group_traces.jsonl");
const pipelines = read<RecordedQueue>("./pipeline_traces.jsonl");

goTheSameWay("of locks, events, semaphores, conditions and barriers", all, primitives);
goTheSameWay("of a Queue", queues, ofQueue);
goTheSameWay("of a TaskGroup", groups, () => new Group());
goTheSameWay("of producers and consumers in a TaskGroup", pipelines, (program) => new Pipeline(program));

/** Registers a test that each of the moves is made often, and that many programs end in each of the ways. */
function goEveryWay(what: string, programs: readonly Recorded[], moves: string[], ends: RegExp[]): void {
  test(`asyncio: the programs of ${what} go every way`, () => {
    const made = programs.flatMap((program) => program.moves.map((move) => move.replace(/\d+/g, "n")));
    for (const move of moves) assert.ok(made.filter((one) => one === move).length >= 50, move);
    const last = programs.map(({ trace }) => trace.at(-1)!);
    for (const end of ends) assert.ok(last.filter((one) => end.test(one)).length > 10, `${end}`);
  });
}

const calls = ["acquire lock", "acquire semaphore n", "acquire bounded n", "release bounded n", "abort barrier n"];
const waits = ["wait event", "wait condition", "wait barrier n", "notify condition", "notifyAll condition", "cancel"];
goEveryWay("all primitives", all, [...calls, ...waits].map((move) => `n ${move}`), [
  /^\S*w/,
  /^\S*c/,
  /^\S*e/,
  /^\S*\./,
]);
goEveryWay("queues", queues, ["cancel", "put", "tryGet", "taskDone", "join"].map((move) => `n ${move}`), []);
goEveryWay("groups", groups, ["start stubborn", "fail n", "clean n fail", "clean n swallow", "cancel", "throw"], [
  / ok$/,
  / cancelled$/,
  / failed \d+$/,
  / failed \d+,/,
  / failed block$/,
  / failed block,\d/,
]);
goEveryWay("producers and consumers", pipelines, [], [
  /cancelled$/,
  /failed [01]$/,
  /failed [23]$/,
  /failed [01],[23]$/,
  /w\S*\b.* open$/,
]);
