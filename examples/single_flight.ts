/** A cache whose entry expires under load: every request that arrives before the new entry makes the same query. */
import { SingleFlight } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

class Database {
  queries = 0;

  async load(id: number): Promise<string> {
    this.queries++;
    await sleep(5);
    return `user ${id}`;
  }
}

/** The number of queries that 50 requests for one user make while the cache is empty. */
export async function stampede(share: (id: number, load: () => Promise<string>) => Promise<string>): Promise<number> {
  const [database, cache] = [new Database(), new Map<number, string>()];
  const get = async (id: number) => {
    if (!cache.has(id)) cache.set(id, await share(id, () => database.load(id)));
    return cache.get(id)!;
  };
  await Promise.all(Array.from({ length: 50 }, () => get(1)));
  return database.queries;
}

export async function main(print: (line: string) => void = console.log) {
  print(`each for itself: ${await stampede((_, load) => load())} queries`);
  const flights = new SingleFlight<number>();
  print(`with SingleFlight: ${await stampede((id, load) => flights.run(id, load))} query`);
}

if (import.meta.main) await main();
