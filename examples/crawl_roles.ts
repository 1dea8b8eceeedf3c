/**
 * Crawling a shop with many processes: one on lists, three on details, the rest on comments. A crawler that is killed
 * frees its place.
 */
import { RedisSemaphore } from "@interlock/interlock/redis";
import type { ChildProcess } from "node:child_process";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { kill, startScript } from "./shared/processes.ts";
import { connect, start } from "./shared/redis.ts";

const PLACES = { lists: 1, details: 3 };
const TTL = 5000; // after a crash the permit is free after this time, in ms

/** One crawler: takes the first role with a free place, prints it, and works until it is ended. */
async function crawler(url: string): Promise<void> {
  const { backend } = await connect(url);
  for (const [role, places] of Object.entries(PLACES)) {
    const lease = await new RedisSemaphore(backend, `crawl ${role}`, places, { ttl: TTL }).tryAcquire();
    if (lease === undefined) continue;
    console.log(role);
    return await new Promise((_, reject) => lease.signal.addEventListener("abort", () => reject(lease.signal.reason)));
  }
  console.log("comments");
  setInterval(() => {}, 1000);
}

/** Starts a crawler; resolves to its process and its role. */
function startCrawler(url: string): Promise<{ child: ChildProcess; role: string }> {
  return new Promise((resolve, reject) => {
    const child = startScript(fileURLToPath(import.meta.url), ["crawler", url], (role) => resolve({ child, role }));
    child.once("exit", (code) => reject(new Error(`a crawler ended with ${code}`)));
  });
}

export async function main(print: (line: string) => void = console.log, url = process.env.REDIS_URL) {
  const { close } = await connect(url);
  const crawlers = [];
  for (let i = 0; i < 6; i++) crawlers.push(await startCrawler(url!));
  print(`roles: ${crawlers.map(({ role }) => role).join(" ")}`);
  const victim = crawlers.find(({ role }) => role === "details")!;
  await kill(victim.child);
  await sleep(TTL);
  const next = await startCrawler(url!);
  crawlers.push(next);
  print(`one on details was killed, and a new one took its place: ${next.role === "details"}`);
  for (const { child } of crawlers) await kill(child);
  close();
}

if (process.argv[2] === "crawler") await crawler(process.argv[3]!);
else if (import.meta.main) await start(main);
