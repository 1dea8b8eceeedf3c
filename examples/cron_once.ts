/**
 * A job that every machine starts at the same minute, and one of them runs. The lease of this minute is neither renewed nor
 * released, so a machine whose clock is late finds it taken.
 */
import { type Backend, RedisLock } from "@interlock/interlock/redis";
import process from "node:process";
import { connect, start } from "./shared/redis.ts";

const MINUTE = 60_000;

/** Returns whether this machine ran it. */
async function once(backend: Backend, job: string, at: Date, work: () => Promise<void> | void): Promise<boolean> {
  const name = `${job} ${at.toISOString().slice(0, 16)}`;
  const lease = await new RedisLock(backend, name, { ttl: MINUTE, renew: false }).tryAcquire();
  if (lease !== undefined) await work();
  return lease !== undefined;
}

export async function main(print: (line: string) => void = console.log, url = process.env.REDIS_URL) {
  const machines = await Promise.all([connect(url), connect(url), connect(url)]);
  const at = new Date("2026-11-22T10:00:00Z");
  let runs = 0;
  const ran = await Promise.all(machines.map(({ backend }) => once(backend, "report", at, () => void runs++)));
  print(`${machines.length} machines, ${runs} run, ${ran.filter(Boolean).length} machine that ran it`);
  const next = new Date(at.getTime() + MINUTE);
  print(`a minute later it runs again: ${await once(machines[0]!.backend, "report", next, () => {})}`);
  for (const { close } of machines) close();
}

if (import.meta.main) await start(main);
