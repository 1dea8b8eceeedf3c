/** One process leads. When it is killed, the next one leads after the rest of its lease. */
import { RedisLock } from "@interlock/interlock/redis";
import type { ChildProcess } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { kill, startScript } from "./shared/processes.ts";
import { connect, start } from "./shared/redis.ts";

const TTL = 2000; // the longest time without a leader, in ms

/** Leads until the lease is lost: pass the signal on to the work. */
async function lead(signal: AbortSignal): Promise<void> {
  console.log("leads");
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

async function candidate(url: string): Promise<void> {
  const { backend } = await connect(url);
  const lock = new RedisLock(backend, "leader", { ttl: TTL });
  for (;;) await lock.run(({ signal }) => lead(signal));
}

export async function main(print: (line: string) => void = console.log, url = process.env.REDIS_URL) {
  const { close } = await connect(url);
  const leaders: ChildProcess[] = [];
  let next = () => {};
  const startCandidate = () => {
    const child = startScript(fileURLToPath(import.meta.url), ["candidate", url!], () => {
      leaders.push(child);
      next();
    });
    return child;
  };
  const another = () => new Promise<void>((resolve) => next = resolve);
  const first = another();
  const candidates = [startCandidate(), startCandidate()];
  await first;
  const second = another();
  await kill(leaders[0]!);
  await second;
  print(`the leader was killed, and the other one leads: ${leaders.length === 2 && leaders[0] !== leaders[1]}`);
  for (const child of candidates) await kill(child);
  close();
}

if (process.argv[2] === "candidate") await candidate(process.argv[3]!);
else if (import.meta.main) await start(main);
