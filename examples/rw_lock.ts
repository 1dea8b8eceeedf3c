/** A price table with concurrent readers and exclusive writers. */
import { RwLock } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

type Enter = () => Promise<Disposable>;

/** Six readers and two writers: the maximum number of readers at once, and the number that saw a half-changed table. */
export async function useTable(reader: Enter, writer: Enter): Promise<{ atOnce: number; torn: number }> {
  const prices = { net: 100, gross: 120 };
  let readers = 0, atOnce = 0, torn = 0;
  const read = async () => {
    using _ = await reader();
    atOnce = Math.max(atOnce, ++readers);
    if (prices.gross !== prices.net * 1.2) torn++;
    await sleep(1);
    readers--;
  };
  const write = async (net: number) => {
    using _ = await writer();
    prices.net = net;
    await sleep(1); // a reader that comes in here sees a torn table
    prices.gross = net * 1.2;
  };
  await Promise.all([read(), read(), read(), write(200), read(), read(), write(300), read()]);
  return { atOnce, torn };
}

export async function main(print: (line: string) => void = console.log) {
  const open = () => Promise.resolve({ [Symbol.dispose]() {} });
  const without = await useTable(open, open);
  print(`without a lock: ${without.torn} of 6 readers saw a table that was half changed`);
  const table = new RwLock();
  const { atOnce, torn } = await useTable(() => table.reader.acquire(), () => table.writer.acquire());
  print(`with an RwLock: ${torn} of 6, and ${atOnce} read at once`);
}

if (import.meta.main) await main();
