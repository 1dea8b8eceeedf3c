/** Whether an error is a cancellation: by its members, never by its class. */
import assert from "node:assert/strict";
import { isCancellation } from "../../lib/internal/is_cancellation.ts";
import { test } from "../_test.ts";

const reason = new Error("stop");

function error(members: object): Error {
  return Object.assign(new Error("an error"), members);
}

const yes: Record<string, unknown> = {
  "the reason": reason,
  "any error that has the reason as its cause": error({ cause: reason }),
  "the platform's AbortError": new DOMException("aborted", "AbortError"),
  "Node's": error({ name: "AbortError", code: "ABORT_ERR", cause: reason }),
  "Node's without a cause": error({ code: "ABORT_ERR" }),
  "that of axios": error({ name: "CanceledError", code: "ERR_CANCELED" }),
  "one that has null as its cause": error({ name: "AbortError", cause: null }),
  "that of got, whose cause is an empty object": error({ name: "AbortError", code: "ERR_ABORTED", cause: {} }),
  "one of another realm": { name: "AbortError", message: "aborted" },
};

const no: Record<string, unknown> = {
  "another error": error({}),
  "an abort error with another cause": error({ name: "AbortError", cause: new Error("disk full") }),
  "a code with another cause": error({ code: "ERR_CANCELED", cause: "ECONNRESET" }),
  "an abort error with a false cause": error({ name: "AbortError", cause: false }),
  "an abort error with a bare Error as its cause": error({ name: "AbortError", cause: Object.create(Error.prototype) }),
  "text": "AbortError",
  "nothing": undefined,
  "null": null,
  "a getter that throws": {
    get name() {
      throw new Error("no name");
    },
  },
};

for (const [name, thrown] of Object.entries(yes)) {
  test(`isCancellation: ${name}`, () => {
    const controller = new AbortController();
    assert.equal(isCancellation(thrown, controller.signal), false);
    controller.abort(reason);
    assert.equal(isCancellation(thrown, controller.signal), true);
  });
}

for (const [name, thrown] of Object.entries(no)) {
  test(`isCancellation: not ${name}`, () => {
    assert.equal(isCancellation(thrown, AbortSignal.abort(reason)), false);
  });
}

for (const odd of [null, 0, "", NaN]) {
  test(`isCancellation: a reason of ${odd === "" ? "no text" : odd}`, () => {
    assert.equal(isCancellation(odd, AbortSignal.abort(odd)), true);
    assert.equal(isCancellation(1, AbortSignal.abort(odd)), false);
  });
}

test("isCancellation: a signal without a reason makes no error its own", () => {
  const polyfilled = { aborted: true } as AbortSignal;
  assert.equal(isCancellation(new Error("failed"), polyfilled), false);
  assert.equal(isCancellation(new DOMException("aborted", "AbortError"), polyfilled), true);
});
