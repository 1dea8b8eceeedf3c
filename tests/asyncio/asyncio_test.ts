/**
 * The same random programs, run by CPython's asyncio and by us, end in the same states after every move. asyncio's
 * states are kept as data; `python3 tests/asyncio/record.py` records it again.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "../_test.ts";
import { type Recorded, replay } from "./_replay.ts";

const [header, ...lines] = readFileSync(new URL("./traces.jsonl", import.meta.url), "utf8").trim().split("\n");
const programs = lines.map((line) => JSON.parse(line) as Recorded);

/** The first move after which our state differs from asyncio's, in words. */
async function difference(program: Recorded): Promise<string | undefined> {
  const trace = await replay(program);
  const at = trace.findIndex((state, i) => state !== program.trace[i]);
  if (at < 0) return undefined;
  const moves = program.moves.slice(0, at + 1).map((move, i) => `${move.padEnd(24)} ${program.trace[i]}`);
  return [program.things.join(", "), ...moves, `${"here:".padEnd(24)} ${trace[at]}`].join("\n");
}

test("asyncio: 600 random programs go the same way, move by move", async () => {
  assert.equal(programs.length, JSON.parse(header!).programs);
  assert.ok(programs.length >= 500);
  for (const [seed, program] of programs.entries()) {
    const found = await difference(program);
    assert.equal(found, undefined, `program ${seed}: ${found}`);
  }
});

test("asyncio: the programs are about everything, and go every way", () => {
  const moves = programs.flatMap((program) => program.moves.map((move) => move.slice(2).replace(/ \d+$/, "")));
  const common = [
    "acquire lock",
    "acquire semaphore",
    "acquire bounded",
    "wait event",
    "wait condition",
    "wait barrier",
  ];
  for (
    const move of [...common, "cancel", "notify condition", "notifyAll condition", "release bounded", "abort barrier"]
  ) {
    assert.ok(moves.filter((one) => one === move).length >= 50, move);
  }
  const ends = programs.flatMap(({ trace }) => trace).join("");
  for (const end of "wce.") assert.ok(ends.split(end).length > 500, end);
});

test("asyncio: a state that differs is noticed", async () => {
  for (const program of programs.slice(0, 20)) {
    const trace = program.trace.with(-1, program.trace.at(-1)!.replace(/.$/, (last) => last === "0" ? "1" : "0"));
    assert.match(await difference({ ...program, trace }) ?? "", /here: /);
  }
});
