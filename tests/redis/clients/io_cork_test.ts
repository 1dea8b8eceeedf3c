/** Batching the writes of one turn: order is kept, and no write stays buffered. */
import assert from "node:assert/strict";
import { Cork } from "../../../lib/redis/clients/io_redis.ts";
import { test } from "../../_test.ts";
import { flushMicrotasks } from "../../_tools.ts";
import { sinon, under } from "../../internal/_fake_clocks.ts";

/** A stream that records its batches. */
class Recorder {
  readonly writes: string[] = [];
  #held: string | undefined;

  cork(): void {
    assert.equal(this.#held, undefined, "corked twice");
    this.#held = "";
  }

  uncork(): void {
    if (this.#held !== undefined) this.writes.push(this.#held);
    this.#held = undefined;
  }

  write(text: string): void {
    if (this.#held === undefined) this.writes.push(text);
    else this.#held += text;
  }
}

test("Cork: commands of one turn go out in few writes, in order", async () => {
  const [cork, stream] = [new Cork(), new Recorder()];
  const commands = Array.from({ length: 40 }, (_, i) => ` ${i}`);
  for (const command of commands) {
    cork.hold(stream);
    stream.write(command);
  }
  const full = [commands.slice(0, 16).join(""), commands.slice(16, 32).join("")];
  assert.deepEqual(stream.writes, full);
  await flushMicrotasks();
  assert.deepEqual(stream.writes, [...full, commands.slice(32).join("")]);
  cork.hold(stream);
  stream.write("u");
  await flushMicrotasks();
  assert.equal(stream.writes.at(-1), "u");
});

test("Cork: a new connection in the same turn, and none at all", async () => {
  const [cork, old, fresh] = [new Cork(), new Recorder(), new Recorder()];
  for (const stream of [old, undefined, fresh, null, {}, fresh]) {
    cork.hold(stream);
    if (stream instanceof Recorder) stream.write("x");
  }
  await flushMicrotasks();
  assert.deepEqual([old.writes, fresh.writes], [["x"], ["x", "x"]]);
});

test("Cork: a clock of a test that replaces queueMicrotask keeps no command back", () =>
  under(() => sinon(["queueMicrotask"]), async () => {
    const [cork, stream] = [new Cork(), new Recorder()];
    cork.hold(stream);
    stream.write("a");
    await flushMicrotasks();
    assert.deepEqual(stream.writes, ["a"]);
  }));
