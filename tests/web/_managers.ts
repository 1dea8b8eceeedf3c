/** The lock managers under test: the platform's where it has one, and one of the tests' own. */
import type { WebLockManager } from "../../lib/web/mod.ts";
import { nextTurn } from "../_tools.ts";
import { OwnLockManager } from "./_lock_manager.ts";

/** The platform's, if it has one. */
export const platform = (globalThis as { navigator?: { locks?: WebLockManager } }).navigator?.locks;

export const managers: readonly (readonly [name: string, locks: WebLockManager])[] = [
  ...(platform === undefined ? [] : [["navigator.locks", platform] as const]),
  ["own manager", new OwnLockManager()],
];

/** A name that no other test uses, of any file: the platform's locks are those of all threads of the process. */
export function freshName(): string {
  return `test ${crypto.randomUUID()}`;
}

/**
 * Counts the requests that wait in a lock manager. Its own `query` shows others as well: in Node 26.10 those that were
 * aborted, in Deno 2.9.6 those with `ifAvailable` that it should have refused.
 */
export class CountedLocks implements WebLockManager {
  #waiting = 0;
  readonly #locks: WebLockManager;

  constructor(locks: WebLockManager) {
    this.#locks = locks;
  }

  async request(...[name, options, callback]: Parameters<WebLockManager["request"]>): Promise<unknown> {
    let waits = "signal" in options;
    const answered = () => {
      if (waits) this.#waiting--;
      waits = false;
    };
    if (waits) this.#waiting++;
    try {
      return await this.#locks.request(name, options, (lock) => {
        answered();
        return callback(lock);
      });
    } finally {
      answered();
    }
  }

  query(): Promise<unknown> {
    return this.#locks.query!();
  }

  /** How many wait, once the manager has answered all of them that need not. */
  async waiting(): Promise<number> {
    await this.query();
    await nextTurn();
    return this.#waiting;
  }
}

/** Steals a lock and gives it back at once. */
export async function steal(locks: WebLockManager, name: string): Promise<void> {
  await locks.request(name, { steal: true } as never, () => undefined);
}
