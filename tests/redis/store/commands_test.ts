/** When a command counts as unanswered. */
import assert from "node:assert/strict";
import { Commands, SentCommand } from "../../../lib/redis/store/commands.ts";
import { test } from "../../_test.ts";
import { withFakeTime } from "../../_tools.ts";

function setup() {
  const silent: SentCommand[] = [];
  const commands = new Commands(new AbortController().signal);
  const send = (limit = 1000) => {
    const command = new SentCommand(limit, { unanswered: (one) => void silent.push(one) });
    commands.add(command);
    return command;
  };
  return { silent, commands, send };
}

test("Commands: a command behind others that are being answered is not unanswered, and is after a limit of silence", () =>
  withFakeTime(async (time) => {
    const { silent, commands, send } = setup();
    const burst = Array.from({ length: 10 }, () => send());
    for (const command of burst.slice(0, 9)) {
      await time.pass(900);
      commands.answered(command);
    }
    await time.pass(950);
    assert.deepEqual(silent, []);
    await time.pass(60);
    assert.deepEqual(silent, burst.slice(9));
  }));

test("Commands: an answer that overtakes an earlier command is no sign of life for it, a late answer to one is", () =>
  withFakeTime(async (time) => {
    const { silent, commands, send } = setup();
    const first = send();
    await time.pass(600);
    commands.answered(send());
    await time.pass(450);
    assert.deepEqual(silent, [first]);
    const next = send();
    await time.pass(600);
    commands.answered(first);
    await time.pass(900);
    assert.deepEqual(silent, [first]);
    await time.pass(150);
    assert.deepEqual(silent, [first, next]);
  }));

test("Commands: each has its own limit, and one that is ended is not reported", () =>
  withFakeTime(async (time) => {
    const { silent, send } = setup();
    const long = send(2000);
    const short = send(100);
    send(50).end();
    await time.pass(150);
    assert.deepEqual(silent, [short]);
    await time.pass(1900);
    assert.deepEqual(silent, [short, long]);
  }));

test("Commands: a blocked event loop is excused once", () =>
  withFakeTime(async (time) => {
    const { silent, send } = setup();
    const command = send();
    time.block(3000);
    await time.pass(900);
    assert.deepEqual(silent, []);
    await time.pass(150);
    assert.deepEqual(silent, [command]);
  }));
