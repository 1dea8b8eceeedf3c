/** Shutting down: wait until the last connection is gone, or the time is over, and list the rest. */
import { SetEvent, TimeoutError } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

/** The connections that are left when the server stops waiting. */
export async function drain(connections: SetEvent<unknown>, grace: number): Promise<number> {
  try {
    await connections.wait({ timeout: grace });
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error;
  }
  return connections.size;
}

export async function main(print: (line: string) => void = console.log) {
  const connections = new SetEvent<unknown>();
  print(`no connection yet: ${await drain(connections, 1000)} left, at once`);
  for (const duration of [1, 5, 10]) connections.track(sleep(duration));
  print(`three short ones: ${await drain(connections, 1000)} left`);
  const slow = new AbortController();
  connections.track(sleep(60_000, undefined, { signal: slow.signal }).catch(() => "cut"));
  print(`one that takes too long: ${await drain(connections, 10)} left after the grace time`);
  slow.abort();
  await connections.wait();
}

if (import.meta.main) await main();
