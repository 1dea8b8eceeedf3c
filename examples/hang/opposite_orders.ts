/** Two transfers lock the same accounts in opposite orders. */
import { KeyedMutex } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

const accounts = new KeyedMutex<string>({ name: "accounts" });

async function transfer(from: string, to: string): Promise<void> {
  await accounts.run(from, async () => {
    await sleep(10);
    await accounts.run(to, () => {}); // acquireAll([accounts.at(from), accounts.at(to)]) has one order for all
  });
}

export async function hang(): Promise<void> {
  await Promise.all([transfer("alice", "bob"), transfer("bob", "alice")]);
}
