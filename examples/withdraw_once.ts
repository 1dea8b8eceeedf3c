/** A payment that must not happen twice, however many machines are asked for it at the same time. */
import { lockOnArguments } from "@interlock/interlock";
import { RedisKeyedMutex } from "@interlock/interlock/redis";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, start } from "./shared/redis.ts";

/** Shared by all machines, as a database would be. */
const paid = new Set<string>();

/** Looks, works, writes: two calls at once would both find nothing. */
async function withdraw(card: string, order: string): Promise<string> {
  if (paid.has(order)) return "was paid already";
  await sleep(5);
  paid.add(order);
  return `paid with ${card}`;
}

export async function main(print: (line: string) => void = console.log, url?: string) {
  const machines = [await connect(url), await connect(url), await connect(url)];
  const unguarded = await Promise.all(machines.map(() => withdraw("card 1", "order 1")));
  print(`without a lock: ${unguarded.filter((answer) => answer.startsWith("paid")).length} times`);
  // The name and the selected arguments are the key, on every machine.
  const lock = { name: "withdraw" };
  const guarded = machines.map(({ backend }) => lockOnArguments(new RedisKeyedMutex(backend), [0, 1], lock)(withdraw));
  const answers = await Promise.all(guarded.map((pay) => pay("card 1", "order 2")));
  print(`with lockOnArguments: ${answers.filter((answer) => answer.startsWith("paid")).length} time`);
  for (const { close } of machines) close();
}

if (import.meta.main) await start(main);
