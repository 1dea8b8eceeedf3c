/**
 * A job that every machine starts in the same minute, and only one of them runs. The lease of this minute is neither
 * renewed nor released, so a machine whose clock is late finds it taken.
 */
import { type Backend, type Lease, RedisLock } from "@interlock/interlock/redis";
import process from "node:process";
import { connect, start } from "./shared/redis.ts";

const MINUTE = 60_000;

/** Resolves to the lease of this minute if this machine ran the job. */
async function once(
  backend: Backend,
  job: string,
  at: Date,
  work: () => Promise<void> | void,
): Promise<Lease | undefined> {
  const name = `${job} ${at.toISOString().slice(0, 16)}`;
  const lease = await new RedisLock(backend, name, { ttl: MINUTE, renew: false }).tryAcquire();
  if (lease !== undefined) await work();
  return lease;
}

export async function main(print: (line: string) => void = console.log, url = process.env.REDIS_URL) {
  const machines = await Promise.all([connect(url), connect(url), connect(url)]);
  const at = new Date("2026-11-22T10:00:00Z");
  let runs = 0;
  const leases = await Promise.all(machines.map(({ backend }) => once(backend, "report", at, () => void runs++)));
  print(`${machines.length} machines, ${runs} run, ${leases.filter(Boolean).length} machine that ran it`);
  const next = new Date(at.getTime() + MINUTE);
  const later = await once(machines[0]!.backend, "report", next, () => {});
  print(`a minute later it runs again: ${later !== undefined}`);
  // Not in production, where they expire: only so that this example ends.
  for (const lease of [...leases, later]) await lease?.release();
  for (const { close } of machines) close();
}

if (import.meta.main) await start(main);
