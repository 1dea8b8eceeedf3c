/** One lock for each key, across machines. */
import assert from "node:assert/strict";
import { RedisKeyedMutex } from "../../lib/redis/mod.ts";
import { lockOnArguments } from "../../mod.ts";
import { nextTurn } from "../_tools.ts";
import { redisTest, until } from "./_clients.ts";

redisTest("as a decorator, the name is the identity on every machine", async ({ backend, connect }) => {
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
});
