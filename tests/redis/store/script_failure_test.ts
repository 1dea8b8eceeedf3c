/** What a script's error means, in the words of each server: the everyday tests meet one of them. */
import assert from "node:assert/strict";
import { DataError, SlotMovingError, StateError } from "../../../lib/redis/errors.ts";
import { scriptFailure } from "../../../lib/redis/store/script_failure.ts";
import { test } from "../../_test.ts";

const SOURCE = "local state = KEYS[1]\nredis.call('SET', KEYS[1], 'a')";
const KEYS = ["interlock:lock:3:{a}"];
const at = "script: f_1, on @user_script:2.";
const CALLED = "ERR Error running script (call to f_1): @user_script:2: @user_script: 2:"; // Redis 6.2

/** What each group of replies means: the error, and its words. */
const meanings: readonly (readonly [new (...args: never[]) => Error, RegExp, readonly string[]])[] = [
  [StateError, /may not run SET/, [
    `${CALLED} The user executing the script can't run this command or subcommand`,
    `ERR The user executing the script can't run this command or subcommand ${at}`, // 7.0
    `ERR ACL failure in script: User app has no permissions to run the 'set' command ${at}`, // 7.2 and later, Valkey
  ]],
  [StateError, /may not use the keys of this name, "interlock:lock:3:\{a\}"/, [
    `ERR The user executing the script can't access at least one of the keys mentioned in the command arguments ${at}`,
    `ERR ACL failure in script: No permissions to access a key ${at}`,
    "NOPERM this user has no permissions to access one of the keys used as arguments", // the command, up to 7.0
  ]],
  [StateError, /^this Redis does not know SET, which may have been renamed or disabled \(ERR /, [
    `ERR Unknown Redis command called from script ${at}`,
    `${CALLED} Unknown Redis command called from Lua script`,
  ]],
  // The script itself.
  [StateError, /^this Redis user may not run EVALSHA, /, [
    "NOPERM this user has no permissions to run the 'evalsha' command", // 7.0
  ]],
  [StateError, /^this Redis user may not run EVAL, /, [
    "NOPERM this user has no permissions to run the 'eval' command or its subcommand", // 6.2
  ]],
  [StateError, /^this Redis does not know EVALSHA, which .* \(ERR unknown command 'evalsha'\)$/, [
    "ERR unknown command 'evalsha', with args beginning with: 'f1' '1' 'interlock:lock:3:{a}' ",
  ]],
  [StateError, /^this Redis does not know EVALSHA, which .* \(-ERR unknown command `EVALSHA`\)$/, [
    "-ERR unknown command `EVALSHA`, with args beginning with: `f1`, `1`, `interlock:lock:3:{a}`, ", // 6.2
  ]],
  [DataError, /the data of the key "interlock:lock:3:\{a\}"/, [`ERR value is not an integer or out of range ${at}`]],
  [DataError, /something else uses/, ["WRONGTYPE Operation against a key holding the wrong kind of value"]],
  [SlotMovingError, /is being moved/, [
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "-ASK 15495 127.0.0.1:7002",
    "MOVED 15495 127.0.0.1:7002",
    // ioredis
    "Too many Cluster redirections. Last error: ReplyError: TRYAGAIN Multiple keys request during rehashing of slot",
    `${CALLED} Lua script attempted to access a non local key in a cluster node`,
    `ERR Script attempted to access a non local key in a cluster node ${at}`,
  ]],
];

for (const [type, words, replies] of meanings) {
  for (const reply of replies) {
    test(`script failure: ${reply.slice(0, 100)}`, () => {
      const failure = scriptFailure(new Error(reply), SOURCE, KEYS, true);
      assert.ok(failure instanceof type);
      assert.match(failure.message, words);
    });
  }
}

test("script failure: a script without keys names no key", () => {
  const { message } = scriptFailure(new Error(`ERR something else ${at}`), SOURCE, [], false) as Error;
  assert.doesNotMatch(message, /undefined/);
});

test("script failure: another error is returned as it is", () => {
  const error = new Error("OOM command not allowed when used memory > 'maxmemory'.");
  assert.equal(scriptFailure(error, SOURCE, KEYS, true), error);
});
