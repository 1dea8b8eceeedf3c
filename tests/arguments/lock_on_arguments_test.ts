/** lockOnArguments: equal arguments take turns, different ones never look alike. */
import assert from "node:assert/strict";
import {
  type ArgumentMutex,
  type Guard,
  KeyedMutex,
  lockOnArguments,
  RwLock,
  TimeoutError,
  type WaitOptions,
} from "../../mod.ts";
import type { Needs } from "../kinds/kind.ts";
import { localKinds } from "../kinds/local.ts";
import { test } from "../_test.ts";
import { flushMicrotasks, rejectsWith } from "../_tools.ts";
import { secondCopy } from "./_second_copy.ts";

const other = await secondCopy(); // here and not in a test: the first call starts esbuild, which takes a port that it keeps

/** Calls the wrapped function with all argument lists at once; says how many ran at the same time. */
async function together(
  calls: readonly (readonly unknown[])[],
  select: readonly number[] = [0, 1],
  mutex = new KeyedMutex<string>(),
): Promise<number> {
  let inside = 0, most = 0;
  const wrapped = lockOnArguments(mutex, select)(async (..._: unknown[]) => {
    most = Math.max(most, ++inside);
    await flushMicrotasks();
    inside--;
  });
  await Promise.all(calls.map((args) => wrapped(...args)));
  assert.equal(mutex.size, 0);
  return most;
}

test("lockOnArguments: calls with equal selected arguments run one at a time, others freely", async () => {
  assert.equal(await together([["card", 10, 1], ["card", 10, 2], ["card", 10, 3]]), 1);
  assert.equal(await together([["card", 10], ["card", 20], ["other", 10]]), 3);
  assert.equal(await together([[1, "x"], [2, "x"], [3, "x"]], [1]), 1);
  assert.equal(await together([[1], [2], [3]], []), 1);
});

test("lockOnArguments: different arguments never share a key, equal ones always do", async () => {
  const different = [
    ["a:b", "c"],
    ["a", "b:c"],
    ["a,b", "c"],
    ['a","b', "c"],
    ["a", "b", "c"],
    [1, 2],
    ["1", 2],
    [1n, 2],
    [12, undefined],
    [undefined, undefined],
    ["undefined", undefined],
    [null, undefined],
    ["null", undefined],
    [NaN, undefined],
    ["NaN", undefined],
    [true, undefined],
    ["true", undefined],
    ["", undefined],
    ["string a", undefined],
    ["\ud800", undefined],
    ["\udc00", undefined],
  ];
  assert.equal(await together(different), different.length);
  for (const args of different) assert.equal(await together([args, [...args]]), 1);
  assert.equal(await together([[0, 0], [-0, 0]]), 1);
  assert.equal(await together([[1], [1, undefined]]), 1);
});

test("lockOnArguments: passes on this, arguments, result and error, and keeps name and length", async () => {
  const mutex = new KeyedMutex<string>();
  const account = {
    balance: 100,
    withdraw: lockOnArguments(mutex, [0])(function withdraw(this: { balance: number }, card: string, amount: number) {
      if (amount > this.balance) throw new RangeError(`not enough for ${card}`);
      return this.balance -= amount;
    }),
  };
  assert.equal(await account.withdraw("card", 30), 70);
  await assert.rejects(account.withdraw("card", 300), /not enough for card/);
  assert.deepEqual([account.withdraw.name, account.withdraw.length], ["withdraw", 2]);
  assert.equal(mutex.size, 0);
});

test("lockOnArguments: generator functions are refused, since calling one runs nothing", () => {
  const mutex = new KeyedMutex<string>();
  class Steps {
    *steps(): Generator<number> {}
    static async *later(): AsyncGenerator<number> {}
  }
  const functions = [function* () {}, async function* () {}, Steps.prototype.steps, Steps.later];
  for (const fn of functions) {
    assert.throws(() => lockOnArguments(mutex, [])(fn as never), /TypeError: fn must not be a generator function/);
    const context = { kind: "method", name: "steps", static: false };
    assert.throws(() => lockOnArguments(mutex, [])(fn as never, context as never), TypeError);
    assert.throws(() => lockOnArguments(mutex, fn as never), /TypeError: select must not be a generator function/);
  }
});

test("lockOnArguments: legacy decorators are refused, on methods and on static ones, and others than on methods", () => {
  const decorate = lockOnArguments(new KeyedMutex<string>(), [0]) as unknown as (...args: unknown[]) => unknown;
  class Bank {
    pay(): void {}
    static open(): void {}
  }
  const legacy = /TypeError: lockOnArguments must be applied as a standard decorator.*experimentalDecorators/;
  const descriptor = (of: object, name: string) => Object.getOwnPropertyDescriptor(of, name);
  assert.throws(() => decorate(Bank.prototype, "pay", descriptor(Bank.prototype, "pay")), legacy);
  assert.throws(() => decorate(Bank, "open", descriptor(Bank, "open")), legacy);
  assert.throws(() => decorate(Bank, Symbol("open"), descriptor(Bank, "open")), legacy);
  assert.throws(() => decorate(Bank, "field", undefined), legacy);
  assert.throws(() => decorate(Bank, "field"), legacy);
  const fn = () => {};
  for (const kind of ["getter", "setter", "field", "class", "accessor"]) {
    assert.throws(
      () => decorate(fn, { kind, name: "pay", static: false }),
      /TypeError: lockOnArguments must decorate a method/,
    );
  }
});

test("lockOnArguments: an array of positions with holes is refused", () => {
  const holes: number[] = [0];
  holes[2] = 1;
  assert.throws(
    () => lockOnArguments(new KeyedMutex<string>(), holes),
    /TypeError: select\[1\] must be a number, got undefined/,
  );
  assert.throws(() => lockOnArguments(new KeyedMutex<string>(), new Array(2) as number[]), TypeError);
});

test("lockOnArguments: options and positions are read once", async () => {
  const mutex = new KeyedMutex<string>();
  let reads = 0;
  const options = {
    get timeout() {
      return ++reads === 1 ? 1000 : NaN;
    },
    get name() {
      return "pay";
    },
  };
  const positions = [0];
  const pay = lockOnArguments(mutex, positions, options)((order: number) => Promise.resolve(order));
  positions[0] = -1;
  assert.deepEqual([await pay(1), await pay(2), reads], [1, 2, 1]);
});

test("lockOnArguments: two functions share keys only where both are given the same name", async () => {
  const mutex = new KeyedMutex<string>();
  let inside = 0, most = 0;
  const make = (name?: string) =>
    lockOnArguments(mutex, [0], { name })(async function pay(_: string) {
      most = Math.max(most, ++inside);
      await flushMicrotasks();
      inside--;
    });
  const atOnce = async (...fns: ((id: string) => Promise<void>)[]) => {
    most = 0;
    await Promise.all(fns.map((fn) => fn("id")));
    return most;
  };
  assert.equal(await atOnce(make(), make()), 2);
  assert.equal(await atOnce(make("a"), make("b"), make()), 3);
  assert.equal(await atOnce(make("a"), make("a")), 1);
  assert.equal(await atOnce(make("pay"), make()), 2);
  assert.equal(await atOnce(make("function 1"), make("function 2"), make()), 3);
});

test("lockOnArguments: a key function makes a key from anything", async () => {
  const mutex = new KeyedMutex<string>();
  const seen: string[] = [];
  const byUser = lockOnArguments(mutex, (order: { user: number; shop: string }) => [order.user, order.shop]);
  const place = byUser(async (order: { user: number; shop: string }, id: number) => {
    seen.push(`+${id}`);
    await flushMicrotasks();
    seen.push(`-${id}`);
    return order.user;
  });
  assert.deepEqual(
    await Promise.all([
      place({ user: 1, shop: "a" }, 101),
      place({ user: 1, shop: "a" }, 102),
      place({ user: 1, shop: "b" }, 103),
    ]),
    [1, 1, 1],
  );
  assert.deepEqual(seen, ["+101", "+103", "-101", "-103", "+102", "-102"]);
  const error = new Error("no key");
  const failing = lockOnArguments(mutex, (_: string): string => {
    throw error;
  })((_: string) => assert.fail("called"));
  await rejectsWith(failing("a"), error);
});

test("lockOnArguments: an object among the arguments asks for a key function", async () => {
  const wrapped = lockOnArguments(new KeyedMutex<string>(), [0, 1])((..._: unknown[]) => assert.fail("called"));
  for (const wrong of [{}, [], new Date(), () => {}, Symbol("s")]) {
    await assert.rejects(
      wrapped("fine", wrong),
      (error: Error) => error instanceof TypeError && /argument 1 .*key function/.test(error.message),
    );
  }
  const keyed = lockOnArguments(new KeyedMutex<string>(), (o: object) => o as never)((_: object) =>
    assert.fail("called")
  );
  await assert.rejects(
    keyed({}),
    new TypeError(
      "the key that select returns must be a string, number, bigint, boolean, null or undefined, got an object (Object)",
    ),
  );
});

test("lockOnArguments: wrong arguments are refused at once", () => {
  const mutex = new KeyedMutex<string>();
  for (const wrong of [undefined, null, {}, 5]) assert.throws(() => lockOnArguments(wrong as never, [0]), TypeError);
  for (const wrong of [undefined, null, 0, "0"]) assert.throws(() => lockOnArguments(mutex, wrong as never), TypeError);
  for (const wrong of [-1, 0.5, NaN]) assert.throws(() => lockOnArguments(mutex, [wrong]), RangeError);
  assert.throws(() => lockOnArguments(mutex, ["0"] as never), TypeError);
  const refusal = /^TypeError: mutex must be a KeyedMutex or RedisKeyedMutex, got /;
  const others = Object.entries(localKinds).filter(([name]) => name !== "KeyedMutex")
    .map(([, { make }]) => make(undefined, {} as Needs));
  const parts = [new KeyedMutex().at(1), new RwLock().writer];
  for (
    const wrong of [undefined, null, 5, {}, ...others, ...parts, new other.Pool(1), new other.Lock()]
  ) {
    assert.throws(() => lockOnArguments(wrong as never, [0]), refusal);
    assert.throws(() => lockOnArguments(wrong as never, [0], { name: "pay" }), refusal);
  }
  for (const name of [5, null]) assert.throws(() => lockOnArguments(mutex, [0], { name } as never), TypeError);
  assert.throws(() => lockOnArguments(mutex, [0], { name: "" }), RangeError);
  assert.throws(() => lockOnArguments(mutex, [0], { timeout: -1 }), RangeError);
  assert.throws(() => lockOnArguments(mutex, [0], null as never), TypeError);
  for (const fn of [undefined, 5, {}]) assert.throws(() => lockOnArguments(mutex, [0])(fn as never), TypeError);
});

test("lockOnArguments: any object with run is taken, whatever else it has", async () => {
  const keys: string[] = [];
  class Wrapper {
    readonly #mutex = new KeyedMutex<string>();
    run<T>(key: string, fn: () => Promise<T>, options?: WaitOptions): Promise<T> {
      keys.push(key);
      return this.#mutex.run(key, fn, options);
    }
    acquire(key: string): Promise<Guard> {
      return this.#mutex.acquire(key);
    }
  }
  class More extends Wrapper {
    readonly value = 1;
    at(): void {}
    join(): void {}
    forget(): void {}
  }
  const Own = { KeyedMutex: class extends More {} }.KeyedMutex; // the same name as ours
  class Ours extends KeyedMutex<string> {}
  for (const mutex of [new Wrapper(), new More(), new Own(), new Ours()]) {
    assert.equal(await lockOnArguments(mutex, [0])((n: number) => Promise.resolve(n + 1))(1), 2);
  }
  assert.equal(new Set(keys).size, 3); // each function has keys of its own
});

test("lockOnArguments: a timeout bounds the waiting for the turn", async () => {
  const wrapped = lockOnArguments(new KeyedMutex<string>(), [0], { timeout: 0 })((_: string) => flushMicrotasks());
  const first = wrapped("a");
  await assert.rejects(wrapped("a"), TimeoutError);
  await first;
  await wrapped("a");
});

test("lockOnArguments: on a mutex across machines the name is the identity, and has to be given", async () => {
  const keys: string[] = [];
  class RedisKeyedMutex {
    async run<T>(key: string, fn: () => T | PromiseLike<T>): Promise<T> {
      keys.push(key);
      return await fn();
    }
  }
  const everywhere: ArgumentMutex = new RedisKeyedMutex();
  const refusal = /^TypeError: name must be given: it identifies the calls of a RedisKeyedMutex/;
  assert.throws(() => lockOnArguments(everywhere, [0]), refusal);
  assert.throws(() => lockOnArguments(everywhere, [0], { timeout: 5 }), refusal);
  const wrap = lockOnArguments(everywhere, [0], { name: "pay" });
  await wrap(function pay(_: string) {})("a");
  await wrap((_: string) => {})("a");
  const context = { kind: "method", name: "payAgain", static: false };
  await wrap((_: string) => {}, context as never)("a");
  await lockOnArguments(everywhere, [0], { name: "payOut" })((_: string) => {})("a");
  const of = (name: string) => JSON.stringify([`name ${name}`, "string a"]);
  assert.deepEqual(keys, [of("pay"), of("pay"), of("pay"), of("payOut")]);
});

test("lockOnArguments: the KeyedMutex of another copy of the module is refused, with a reason", () => {
  for (const options of [{}, { name: "pay" }]) {
    assert.throws(
      () => lockOnArguments(new other.KeyedMutex(), [0], options),
      /^TypeError: mutex must be of the same copy of this module: there are two copies, got/,
    );
  }
  assert.throws(() => other.lockOnArguments(new KeyedMutex<string>(), [0]), /two copies/);
});
