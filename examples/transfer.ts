/** Transfers between two accounts: each needs both, whichever is named first. */
import { acquireAll, KeyedMutex } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

const balances = new Map<string, number>();
const accounts = new KeyedMutex<string>();

async function move(from: string, to: string, amount: number): Promise<void> {
  const [before, there] = [balances.get(from)!, balances.get(to)!];
  await sleep(1);
  balances.set(from, before - amount).set(to, there + amount);
}

/** Two at once in opposite directions: each holds its first account and waits for the other. */
async function oneByOne(from: string, to: string, amount: number): Promise<void> {
  using _from = await accounts.acquire(from, { timeout: 50 });
  await sleep(1);
  using _to = await accounts.acquire(to, { timeout: 50 });
  await move(from, to, amount);
}

/** With RedisKeyedMutex in place of KeyedMutex, the same line works across machines. */
async function together(from: string, to: string, amount: number): Promise<void> {
  await using _ = await acquireAll([accounts.at(from), accounts.at(to)], { timeout: 5000 });
  await move(from, to, amount);
}

export async function main(print: (line: string) => void = console.log) {
  const tries = [["without a lock", move], ["one lock after the other", oneByOne], ["acquireAll", together]] as const;
  for (const [name, transfer] of tries) {
    balances.clear();
    balances.set("ada", 100).set("bob", 100);
    const transfers = [transfer("ada", "bob", 30), transfer("bob", "ada", 10)];
    const failed = (await Promise.allSettled(transfers)).some(({ status }) => status === "rejected");
    const [ada, bob] = [balances.get("ada")!, balances.get("bob")!];
    print(`${name}: ${failed ? "deadlock" : `ada ${ada}, bob ${bob}, together ${ada + bob}`}`);
  }
}

if (import.meta.main) await main();
