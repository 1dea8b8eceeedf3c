/** The drain test: many waiters, the gate opens, each enters once. It measures the time from one release to the next entry. */
import { spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { quantile } from "../_runner.ts";
import type { Locks, Name } from "./_locks.ts";

/** The moments of an entry and of the request for its release, on a clock that processes share. */
export interface Visit {
  readonly entered: number;
  readonly released: number;
}

/** Milliseconds. */
export function clock(): number {
  return performance.timeOrigin + performance.now();
}

/** By then all contenders are waiting, also those that poll. */
const SETTLE = 150;

/** All enter once, one after the other. */
export async function visitAll({ acquire }: Locks, count: number): Promise<Visit[]> {
  return await Promise.all(Array.from({ length: count }, async () => {
    const release = await acquire("drain");
    const entered = clock();
    const released = clock();
    await release();
    return { entered, released };
  }));
}

/** The median hand-off, in milliseconds. */
export function median(visits: readonly Visit[], opened: number): number {
  const sorted = [...visits].sort((a, b) => a.entered - b.entered);
  const gaps = sorted.map(({ entered }, i) => entered - (i === 0 ? opened : sorted[i - 1]!.released));
  return quantile(gaps, 0.5);
}

/** In one process. */
export async function drain(locks: Locks, count: number): Promise<number> {
  const open = await locks.acquire("drain");
  const all = visitAll(locks, count);
  await sleep(SETTLE);
  const opened = clock();
  await open();
  return median(await all, opened);
}

/** In `processes` processes of this run-time. */
export async function drainAcross(
  name: Name,
  url: string,
  locks: Locks,
  processes: number,
  each: number,
): Promise<number> {
  const open = await locks.acquire("drain");
  const flags = "Deno" in globalThis ? ["run", "-A", "--no-check"] : [];
  const script = fileURLToPath(new URL("./_drain_process.ts", import.meta.url));
  const ready: Promise<void>[] = [];
  const visits = Array.from({ length: processes }, () => {
    const child = spawn(process.execPath, [...flags, script, name, url, String(each)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
    ready.push(lines.next().then(() => {}));
    return ready.at(-1)!.then(async () => JSON.parse((await lines.next()).value!) as Visit[]);
  });
  await Promise.all(ready);
  await sleep(SETTLE);
  const opened = clock();
  await open();
  return median((await Promise.all(visits)).flat(), opened);
}
