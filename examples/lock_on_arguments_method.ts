/** As a decorator: a bank's withdrawals from one card take turns. Needs standard decorators: Deno, Bun or a compiler. */
import { KeyedMutex, lockOnArguments } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

const cards = new KeyedMutex<string>();

class Bank {
  readonly balances = new Map<string, number>();

  /** Reads, works, writes: two at once lose one of them. */
  async unguarded(card: string, amount: number): Promise<void> {
    const before = this.balances.get(card) ?? 100;
    await sleep(1);
    this.balances.set(card, before - amount);
  }

  @lockOnArguments(cards, [0])
  withdraw(card: string, amount: number): Promise<void> {
    return this.unguarded(card, amount);
  }
}

export async function main(print: (line: string) => void = console.log) {
  for (const method of ["unguarded", "withdraw"] as const) {
    const bank = new Bank();
    await Promise.all([bank[method]("card 1", 10), bank[method]("card 1", 20), bank[method]("card 2", 5)]);
    print(`${method}: ${bank.balances.get("card 1")} left on card 1, ${bank.balances.get("card 2")} on card 2`);
  }
}

if (import.meta.main) await main();
