/** The same for the locks of tabs and workers. */
import { type WebGuard, WebLock, WebRwLock } from "@interlock/interlock/web";

const lock = new WebLock("orders", { locks: navigator.locks, mode: "shared" });
export const table = new WebRwLock("table");

export async function inTurn(fn: (signal: AbortSignal) => Promise<void>): Promise<void> {
  await using guard: WebGuard = await table.writer.acquire({ timeout: 100 });
  await lock.run(() => fn(guard.signal));
}
