/** One queue per user instead of one queue for everybody: orders of one user take turns, users do not wait for each other. */
import { KeyedMutex } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

/** Takes four orders of two users at once; returns the most that were worked on at the same time, of one user and in all. */
export async function takeOrders(users: KeyedMutex<number>, keyOf: (user: number) => number, work = 10) {
  const busy: number[] = [];
  let mostOfOneUser = 0, mostInAll = 0;
  const order = (user: number) =>
    users.run(keyOf(user), async () => {
      busy.push(user);
      mostOfOneUser = Math.max(mostOfOneUser, busy.filter((one) => one === user).length);
      mostInAll = Math.max(mostInAll, busy.length);
      await sleep(work);
      busy.splice(busy.indexOf(user), 1);
    });
  await Promise.all([order(1), order(1), order(2), order(2)]);
  return { mostOfOneUser, mostInAll, entries: users.size };
}

export async function main(print: (line: string) => void = console.log) {
  const everybody = await takeOrders(new KeyedMutex(), () => 0);
  print(`one lock for all: ${everybody.mostInAll} order at a time`);
  const each = await takeOrders(new KeyedMutex(), (user) => user);
  print(`one queue per user: ${each.mostInAll} orders at a time, ${each.mostOfOneUser} of each user`);
  print(`entries left: ${each.entries}`);
}

if (import.meta.main) await main();
