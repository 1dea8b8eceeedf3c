/** Another process holds the lock and is stuck in its work: its lease is renewed, so it never ends. */
import { type Backend, RedisLock } from "@interlock/interlock/redis";

export function report(backend: Backend): RedisLock {
  return new RedisLock(backend, "nightly-report", { owner: `process ${globalThis.process?.pid}` });
}

export async function hang(backend: Backend): Promise<void> {
  await report(backend).run(() => {});
}
