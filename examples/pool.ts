/** A crawler that fetches pages three at a time: the producer is held back, and no failure is lost. */
import { Pool } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

/** Crawls the pages; returns the maximum number of fetches in flight, and of URLs made ahead of them. */
export async function crawl(pages: number, atOnce: number): Promise<{ underWay: number; ahead: number }> {
  let running = 0, made = 0, done = 0, underWay = 0, ahead = 0;
  function* urls() {
    for (; made < pages; made++) {
      ahead = Math.max(ahead, made - done);
      yield `/page/${made}`;
    }
  }
  const fetchPage = async (url: string) => {
    underWay = Math.max(underWay, ++running);
    await sleep(1);
    running--;
    return url;
  };
  await using pool = new Pool(atOnce);
  for await (const _ of pool.map(urls(), fetchPage)) done++;
  return { underWay, ahead };
}

export async function main(print: (line: string) => void = console.log) {
  const { underWay, ahead } = await crawl(30, 3);
  print(`at most ${underWay} fetches at once, never more than a few URLs ahead: ${ahead <= 6}`);
  const pool = new Pool(3);
  await pool.createTask(() => Promise.reject(new Error("page not found")));
  pool.close();
  print(`an unobserved failure: ${await pool.join().catch((error) => error.message)}`);
}

if (import.meta.main) await main();
