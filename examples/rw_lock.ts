/** A price table that is read together and changed alone. */
import { RwLock } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

export async function main(print: (line: string) => void = console.log) {
  const table = new RwLock();
  const prices = { net: 100, gross: 120 };
  let readers = 0, mostReaders = 0, torn = 0;
  const read = () =>
    table.reader.run(async () => {
      mostReaders = Math.max(mostReaders, ++readers);
      if (prices.gross !== prices.net * 1.2) torn++;
      await sleep(1);
      readers--;
    });
  const write = (net: number) =>
    table.writer.run(async () => {
      prices.net = net;
      await sleep(1); // a reader that came in here would see a torn table
      prices.gross = net * 1.2;
    });
  await Promise.all([read(), read(), read(), write(200), read(), read(), write(300), read()]);
  print(`${mostReaders} readers at once, ${torn} saw a table that was half changed`);
}

if (import.meta.main) await main();
