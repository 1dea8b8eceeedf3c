/** Many processes crawl one site and share its rate limit. */
import { RedisRateLimiter } from "@interlock/interlock/redis";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { startScript } from "./shared/processes.ts";
import { connect, start } from "./shared/redis.ts";

const [LIMIT, INTERVAL] = [5, 200]; // 5 requests in any window of 200 ms, all processes together
const [CRAWLERS, PAGES] = [3, 10];

/** One crawler. Here a page is a printed line; in a real crawler it is a `fetch`. */
async function crawler(url: string): Promise<void> {
  const { backend, close } = await connect(url);
  const limiter = new RedisRateLimiter(backend, "crawl", LIMIT, INTERVAL).at("example.com");
  for (let page = 0; page < PAGES; page++) await limiter.run(() => console.log(`/page-${page}`));
  close();
}

export async function main(print: (line: string) => void = console.log, url = process.env.REDIS_URL) {
  const pages: number[] = [];
  const begin = performance.now();
  await Promise.all(Array.from({ length: CRAWLERS }, () =>
    new Promise((resolve) => {
      const script = fileURLToPath(import.meta.url);
      startScript(script, ["crawler", url!], () => pages.push(performance.now())).once("close", resolve);
    })));
  const least = (pages.length / LIMIT - 1) * INTERVAL;
  print(`${CRAWLERS} crawlers, ${pages.length} pages`);
  // Measured from the beginning, because the line of the first page may come late.
  print(`no quicker than the limit: ${pages.at(-1)! - begin >= least}`);
}

if (process.argv[2] === "crawler") await crawler(process.argv[3]!);
else if (import.meta.main) await start(main);
