/** One lock for each key, across machines. */
import assert from "node:assert/strict";
import { RedisKeyedMutex } from "../../lib/redis/mod.ts";
import { lockOnArguments } from "../../mod.ts";
import { nextTurn } from "../_tools.ts";
import { redisTest, until } from "./_clients.ts";

redisTest("calls with equal arguments take turns across processes", async ({ backend, connect }) => {
  let inside = 0, most = 0;
  async function withdraw(_card: string, _amount: number): Promise<void> {
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setTimeout(resolve, 2));
    inside--;
  }
  const here = lockOnArguments(new RedisKeyedMutex(backend), [0], { name: "withdraw" })(withdraw);
  const there = lockOnArguments(new RedisKeyedMutex(await connect()), [0], { name: "withdraw" })(withdraw);
  await Promise.all([here("a:b", 1), there("a:b", 2), here("a:b", 3), there("a:b", 4)]);
  assert.equal(most, 1);
  await Promise.all([here("a", 1), there("b", 2)]);
});

redisTest(
  "as a decorator, the name is the identity on every machine",
  async ({ backend, connect }) => {
    let inside = 0, most = 0;
    let meeting = () => nextTurn();
    async function pay(this: unknown, _order: string): Promise<void> {
      most = Math.max(most, ++inside);
      await meeting();
      inside--;
    }
    // Two programs that have the same class, as two machines do.
    const program = (mutex: RedisKeyedMutex) => {
      class Bank {
        declare pay: typeof pay;
      }
      const context = { kind: "method", name: "pay", static: false } as ClassMethodDecoratorContext<Bank, typeof pay>;
      Bank.prototype.pay = lockOnArguments(mutex, [0], { name: "Bank.pay" })(pay, context as never);
      return new Bank();
    };
    const [here, there] = [new RedisKeyedMutex(backend), new RedisKeyedMutex(await connect())].map(program);
    await Promise.all([here!.pay("a"), there!.pay("a"), here!.pay("a")]);
    assert.equal(most, 1);
    // These two can overlap.
    meeting = () => until(() => most === 2);
    await Promise.all([here!.pay("a"), there!.pay("b")]);
  },
);

redisTest("keys do not wait for each other", async ({ backend }) => {
  const mutex = new RedisKeyedMutex(backend);
  const one = await mutex.acquire("user 1");
  assert.equal(await mutex.tryAcquire("user 1"), undefined);
  const two = await mutex.acquire("user 2");
  assert.equal((await mutex.inspect("user 1")).holders[0]!.id, one.id);
  assert.equal(await mutex.forceRelease("user 2"), true);
  assert.equal(await one.release(), true);
  assert.equal(await two.release(), false);
});
