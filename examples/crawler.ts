/**
 * A complete crawler. Pages find pages; at most 8 requests at a time and 2 to one host, about 50 starts of a host in any
 * 100 ms: a page whose start is counted may still wait for one of the 8 requests. A host that responds with 429 is
 * blocked until its Retry-After is over. A page that fails is tried three times. Ctrl-C ends the crawl with a summary of
 * the pages so far.
 */
import { KeyedRateLimiter, KeyedSemaphore, Semaphore, TaskGroup } from "@interlock/interlock";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

interface Page {
  readonly status: number;
  readonly links: readonly string[];
  /** Milliseconds; with status 429. */
  readonly retryAfter: number;
}
type FetchPage = (url: string, signal: AbortSignal) => Promise<Page>;

export interface Summary {
  pages: number;
  retries: number;
  refused: number;
  readonly failed: string[];
  isStopped: boolean;
}

const ATTEMPTS = 3;

export async function crawl(start: string, fetchPage: FetchPage, stop: AbortSignal): Promise<Summary> {
  const [requests, perHost] = [new Semaphore(8), new KeyedSemaphore<string>(2)];
  const starts = new KeyedRateLimiter<string>(50, 100);
  const seen = new Set<string>();
  const summary: Summary = { pages: 0, retries: 0, refused: 0, failed: [], isStopped: false };

  /** The narrow limits first: a page that waits for its host takes no request from other hosts. */
  const request = (url: string, host: string, signal: AbortSignal) =>
    perHost.run(host, async () => {
      await starts.acquire(host, { signal });
      return await requests.run(() => fetchPage(url, signal), { signal });
    }, { signal });

  /** The pause between two attempts is outside of all limits, so it holds up no other page. */
  async function load(url: string, signal: AbortSignal): Promise<readonly string[]> {
    const { host } = new URL(url);
    for (let attempt = 1; attempt <= ATTEMPTS;) {
      try {
        const { status, links, retryAfter } = await request(url, host, signal);
        if (status === 200) return summary.pages++, links;
        starts.block(host, retryAfter); // 429
        starts.reward(host); // a refused request does not count
        summary.refused++;
      } catch {
        signal.throwIfAborted();
        if (attempt++ < ATTEMPTS) summary.retries++;
        await sleep(2 ** attempt, undefined, { signal });
      }
    }
    summary.failed.push(url);
    return [];
  }

  try {
    await TaskGroup.scope((group) => {
      const visit = (url: string) => {
        if (seen.has(url)) return;
        seen.add(url);
        group.run(async (signal) => (await load(url, signal)).forEach(visit));
      };
      visit(start);
    }, { signal: stop });
  } catch (error) {
    if (!stop.aborted) throw error;
    summary.isStopped = true;
  }
  return summary;
}

/** Two sites of 20 pages. One refuses every fifth request, for 20 ms, one page fails twice, and one fails always. */
function sites(onPage: (count: number) => void): FetchPage & { ignored(): number } {
  let [requests, closedUntil, ignored, flaky, count] = [0, 0, 0, 0, 0];
  const links = [..."ab"].flatMap((site) => Array.from({ length: 20 }, (_, i) => `https://${site}.example/${i}`));
  const fetchPage: FetchPage = async (url, signal) => {
    await sleep(1, undefined, { signal });
    const now = performance.now();
    if (url.startsWith("https://b")) {
      if (now < closedUntil) ignored++;
      else if (++requests % 5 === 0) closedUntil = now + 20;
      if (now < closedUntil) return { status: 429, links: [], retryAfter: closedUntil - now };
    }
    if (url.endsWith("a.example/3") && flaky++ < 2) throw new Error("reset");
    if (url.endsWith("a.example/7")) throw new Error("reset");
    onPage(++count);
    return { status: 200, links, retryAfter: 0 };
  };
  return Object.assign(fetchPage, { ignored: () => ignored });
}

export async function main(print: (line: string) => void = console.log) {
  const stop = new AbortController();
  const onSignal = () => stop.abort(new Error("Ctrl-C"));
  process.once("SIGINT", onSignal);
  const web = sites(() => {});
  const { pages, failed, retries, refused } = await crawl("https://a.example/0", web, stop.signal);
  print(`${pages} pages, ${retries} retries, failed: ${failed.join()}`);
  print(`refused: ${refused > 0}, at most as many requests on their way: ${web.ignored() <= refused}`);

  const half = await crawl("https://a.example/0", sites((count) => count === 10 && onSignal()), stop.signal);
  print(`stopped: ${half.isStopped}, after ${half.pages < 39 ? "some" : "all"} pages`);
  process.removeListener("SIGINT", onSignal);
}

if (import.meta.main) await main();
