/** Arguments: every message names the argument and quotes the value. */
import assert from "node:assert/strict";
import { checkFunction, checkInteger, checkTimeout, quote } from "../../lib/internal/check.ts";
import { test } from "../_test.ts";

test("check: quoted values are short and unmistakable", () => {
  class Order {}
  const quoted: [unknown, string][] = [
    ["1", '"1"'],
    [1, "1"],
    [10n, "10n"],
    [NaN, "NaN"],
    [null, "null"],
    [undefined, "undefined"],
    [true, "true"],
    [Symbol("key"), "Symbol(key)"],
    [[1, 2], "an object (Array)"],
    [new Order(), "an object (Order)"],
    [Object.create(null), "an object (no class)"],
    [function work() {}, "function work"],
    [(() => () => {})(), "function (anonymous)"],
    ["line\nbreak", '"line\\nbreak"'],
  ];
  for (const [value, text] of quoted) assert.equal(quote(value), text);
  // Values that throw when they are inspected are quoted by their type.
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const nameless = JSON.parse('{"constructor": {"name": {"toString": 1}}}');
  for (const value of [proxy, nameless]) assert.equal(quote(value), "object");
  assert.ok(quote("x".repeat(10_000)).length < 80);
});

test("check: numbers", () => {
  for (const fine of [0, 0.5, -0, 2 ** 40, Infinity]) checkTimeout(fine);
  assert.throws(() => checkTimeout(NaN), new RangeError("timeout must be 0 or more milliseconds, got NaN"));
  assert.throws(() => checkTimeout("5", "grace"), new TypeError('grace must be a number of milliseconds, got "5"'));
  checkInteger(3, "n", 1, 3);
  assert.throws(() => checkInteger(4, "n", 1, 3), new RangeError("n must be a whole number from 1 to 3, got 4"));
  assert.throws(() => checkInteger(2, "n", 1, 1), new RangeError("n must be 1, got 2"));
  assert.throws(() => checkInteger(0, "n", 1), new RangeError("n must be a whole number of 1 or more, got 0"));
  const called = "fn must be a function, such as () => work(), before any options, got an object (Promise)";
  assert.throws(() => checkFunction(Promise.resolve()), new TypeError(called));
  assert.throws(() => checkFunction(5, "report"), new TypeError("report must be a function, got 5"));
});
