/** Timing out: a race against a timer leaves the lock locked forever, a TimeoutLock does not. */
import { Lock, TimeoutLock } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

/** One call holds, one times out, then the holder releases. Returns whether the lock is stuck after that. */
export async function isStuck(lock: Lock, giveUp: () => Promise<unknown>): Promise<boolean> {
  const holder = await lock.acquire();
  await giveUp().catch(() => "gave up");
  holder.release();
  await Promise.resolve();
  return lock.locked;
}

export async function main(print: (line: string) => void = console.log) {
  const raced = new Lock();
  // The race is lost, but the waiter is still in the queue, and is granted the lock later.
  const race = () => Promise.race([raced.acquire(), sleep(5).then(() => Promise.reject(new Error("too late")))]);
  print(`Promise.race against a timer: stuck forever? ${await isStuck(raced, race)}`);
  const patient = new TimeoutLock(5);
  print(`TimeoutLock: stuck forever? ${await isStuck(patient, () => patient.acquire())}`);
}

if (import.meta.main) await main();
