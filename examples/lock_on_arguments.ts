/** Withdrawals from one card take turns; withdrawals from different cards do not wait for each other. */
import { KeyedMutex, lockOnArguments } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

const balances = new Map<string, number>();

/** Reads, works, writes: two calls at once would lose one withdrawal. */
async function unguarded(card: string, amount: number): Promise<void> {
  const before = balances.get(card) ?? 100;
  await sleep(1);
  balances.set(card, before - amount);
}

export async function main(print: (line: string) => void = console.log) {
  const withdraw = lockOnArguments(new KeyedMutex<string>(), [0])(unguarded);
  for (const [name, fn] of [["without", unguarded], ["with", withdraw]] as const) {
    balances.clear();
    await Promise.all([fn("card 1", 10), fn("card 1", 20), fn("card 2", 5)]);
    print(`${name} lockOnArguments: ${balances.get("card 1")} left on card 1, ${balances.get("card 2")} on card 2`);
  }
}

if (import.meta.main) await main();
