/** A function that holds the lock calls another one that acquires it. */
import { Lock } from "@interlock/interlock";

const ledger = new Lock({ name: "ledger" });
const entries: number[] = [];

async function total(): Promise<number> {
  return await ledger.run(() => entries.reduce((sum, one) => sum + one, 0));
}

export async function hang(): Promise<void> {
  await ledger.run(async () => {
    entries.push(10);
    console.log(await total()); // waits for the lock that its caller holds
  });
}
