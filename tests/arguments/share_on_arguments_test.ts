/** shareOnArguments: the twin of lockOnArguments, so its keys are tested there. */
import assert from "node:assert/strict";
import { KeyedMutex, shareOnArguments, SingleFlight, TimeoutError } from "../../mod.ts";
import { test } from "../_test.ts";
import { deferred, flushMicrotasks } from "../_tools.ts";
import { secondCopy } from "./_second_copy.ts";

const other = await secondCopy(); // here and not in a test: the first call starts esbuild, which takes a port that it keeps

test("shareOnArguments: calls with equal selected arguments share a run, others have their own", async () => {
  const flights = new SingleFlight<string>();
  let runs = 0;
  const load = shareOnArguments(flights, [0])(async function load(id: unknown, _note: string) {
    await flushMicrotasks();
    return { id, run: ++runs };
  });
  const [a, same, text, other] = await Promise.all([load(1, "x"), load(1, "y"), load("1", "x"), load(2, "x")]);
  assert.equal(a, same);
  assert.deepEqual([text!.id, other!.id, runs, flights.size], ["1", 2, 3, 0]);
  assert.notEqual(await load(1, "x"), a);
  assert.deepEqual([load.name, load.length], ["load", 2]);
  const named = () => shareOnArguments(flights, [0], { name: "load" })(async (_: number) => await Promise.resolve({}));
  const [first, second] = await Promise.all([named()(1), named()(1)]);
  assert.equal(first, second, "functions of one name share");
});

test("shareOnArguments: as a decorator it passes this on; a failure reaches all, and is not kept", async () => {
  const flights = new SingleFlight<string>();
  let runs = 0;
  class Shop {
    name = "shop";
    declare load: (id: number) => Promise<string>;
  }
  const load = async function (this: Shop, id: number) {
    await flushMicrotasks();
    if (++runs === 1) throw new Error("failed");
    return `${this.name} ${id}`;
  };
  const context = { kind: "method", name: "load", static: false } as ClassMethodDecoratorContext<Shop, typeof load>;
  Shop.prototype.load = shareOnArguments(flights, [0])(load, context);
  const shop = new Shop();
  const failed = await Promise.allSettled([shop.load(1), shop.load(1)]);
  assert.deepEqual(failed.map(({ status }) => status), ["rejected", "rejected"]);
  assert.equal(await shop.load(1), "shop 1");
  assert.throws(
    () => shareOnArguments(flights, [0])(load as never, "load" as never),
    /shareOnArguments must be applied/,
  );
  assert.throws(() => shareOnArguments(flights, [0])(function* () {}), /must not be a generator function/);
});

test("shareOnArguments: a timeout ends one call's wait", async () => {
  const gate = deferred<number>();
  const load = shareOnArguments(new SingleFlight<string>(), [0], { timeout: 1 })((_: number) => gate.promise);
  await assert.rejects(load(1), TimeoutError);
});

test("shareOnArguments: wrong arguments are refused at once", () => {
  const flights = new SingleFlight<string>();
  for (const wrong of [undefined, null, {}, 5, new KeyedMutex(), new Map()]) {
    assert.throws(() => shareOnArguments(wrong as never, [0]), /TypeError: flights must be a SingleFlight, got /);
  }
  assert.throws(
    () => shareOnArguments(new other.SingleFlight<string>() as never, [0]),
    /^TypeError: flights must be of the same copy of this module: there are two copies, got /,
  );
  for (const fn of [undefined, 5]) assert.throws(() => shareOnArguments(flights, [0])(fn as never), TypeError);
});
