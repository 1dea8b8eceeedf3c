/**
 * Releasing by id: a hold, a place in the queue, or the trace of a call whose answer never came. Invariant: it ends when
 * Redis has answered at a time at which no command of this id can run any more, or when the hold and the place have
 * expired.
 *
 * @module
 */
import type { ResourceSpec } from "../resource_spec.ts";
import type { Store } from "../store/store.ts";
import { LocalTimer } from "../clock.ts";
import { backoff, commandLimit, LEAST_LIMIT, now } from "../times.ts";

export interface ReleaseOptions {
  /** Local time after which there is nothing left to release. */
  readonly until: number;
  /** Server time in microseconds until which an earlier command of this id may still run; 0 if there is none. */
  readonly inFlightUntil: number;
}

/**
 * Releases an id; no caller waits for it. Every refusal may pass: the caller's rights, for example, can change. Never
 * rejects: without an answer, the hold and the place end with their time.
 */
export async function releaseInBackground(spec: ResourceSpec, id: string, options: ReleaseOptions): Promise<void> {
  const { client: { store }, clock } = spec;
  for (let attempt = 0;; attempt++) {
    try {
      await store.release(spec, id, limitOf(spec, options.until));
      break;
    } catch {
      if (store.closed || now() >= options.until) return;
      await pause(store, Math.min(backoff(attempt), Math.max(1, options.until - now())));
    }
  }
  const left = options.inFlightUntil - clock.at(now());
  if (left < 0) return;
  // Once more when a command without an answer would be refused as too late.
  await pause(store, left / 1000 + 50);
  await releaseInBackground(spec, id, { ...options, until: now() + spec.settings.ttl });
}

function limitOf(spec: ResourceSpec, until: number): number {
  return Math.max(Math.min(commandLimit(spec.settings.ttl, LEAST_LIMIT.release), until - now()), 10);
}

/** Does not keep the process alive, and ends early when the client is closed. */
function pause(store: Store, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      timer.clear();
      store.offClose(closable);
      resolve();
    };
    const timer = new LocalTimer(end);
    const closable = { index: -1, close: end };
    store.onClose(closable);
    timer.set(now() + ms);
  });
}
