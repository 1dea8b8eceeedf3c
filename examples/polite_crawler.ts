/**
 * A crawler that obeys: at most 4 pages at a time, 50 starts of a host in any 100 ms, and when a host answers 429, nothing
 * more goes to it until its Retry-After is over.
 */
import { KeyedRateLimiter, Pool } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

/** Two sites. One of them refuses after every third page, for 50 ms, and counts the requests that come all the same. */
function sites() {
  let [pages, closedUntil, ignored] = [0, 0, 0];
  return {
    async fetch(url: URL): Promise<{ status: number; retryAfter: number }> {
      await sleep(1);
      if (url.host !== "strict.example") return { status: 200, retryAfter: 0 };
      const now = performance.now();
      if (now < closedUntil) ignored++;
      else if (++pages % 3 !== 0) return { status: 200, retryAfter: 0 };
      else closedUntil = now + 50;
      return { status: 429, retryAfter: closedUntil - now };
    },
    get ignored(): number {
      return ignored;
    },
  };
}

export async function main(print: (line: string) => void = console.log) {
  const web = sites();
  const hosts = new KeyedRateLimiter<string>(50, 100);
  const pool = new Pool(4);

  async function crawl(url: URL): Promise<void> {
    for (;;) {
      await hosts.acquire(url.host); // outside of the pool: a host that waits takes no slot
      const { status, retryAfter } = await pool.run(() => web.fetch(url));
      if (status !== 429) return;
      hosts.block(url.host, retryAfter);
      hosts.reward(url.host); // a call that was refused does not count
    }
  }

  const urls = [..."abcdefgh"].flatMap((page) =>
    ["strict.example", "free.example"].map((host) => new URL(`http://${host}/${page}`))
  );
  await Promise.all(urls.map(crawl));
  print(`${urls.length} of ${urls.length} pages`);
  print(`requests while the host had said no: at most those in flight: ${web.ignored <= 3 * 4}`);
}

if (import.meta.main) await main();
