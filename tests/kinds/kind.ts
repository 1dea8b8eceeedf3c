/** A row of the list of kinds: what tests have to know of a public class in order to use it. */
import type { Backend } from "../../lib/redis/mod.ts";
import type { WebLockManager } from "../../lib/web/mod.ts";
import type { NameOptions, WaitOptions } from "../../mod.ts";

/** One method that waits. */
export interface Call {
  /** Makes the call. What it is granted is given back at once. */
  readonly wait: (options?: WaitOptions) => Promise<unknown>;
  /** Makes later calls wait, if they may. Returns how to let them go. */
  readonly block?: () => (() => unknown) | Promise<() => unknown>;
  /** The number of waiters, if it is known. */
  readonly waiting?: () => number;
}

/** What the makers of some classes need. */
export interface Needs {
  readonly backend: Backend;
  readonly locks: WebLockManager;
}

export interface Kind<T extends object = object> {
  /** Creates one, with a name if it takes one. */
  readonly make: (options: NameOptions | undefined, needs: Needs) => T;
  /** Its calls that wait, by their names. */
  readonly calls: (thing: T) => Readonly<Record<string, Call>>;
  /** Throws unless its invariants hold, for a class with state of its own. */
  readonly sound?: (thing: T) => void;
  /** The kind of its events, if its grants are no holds. */
  readonly neverHeld?: string;
  /** Whether its name is given by `make`'s options. Default: true. */
  readonly hasName?: false;
}

/** A list of rows, each for its own class. */
export type Kinds = Readonly<Record<string, Kind>>;

/** Forgets the class: whoever goes through a list passes to each row what that row has made. */
export function kind<T extends object>(row: Kind<T>): Kind {
  return row as unknown as Kind;
}

/** Gives back what is granted. */
export async function passing(granted: Promise<{ release(): unknown }>): Promise<void> {
  await (await granted).release();
}

/** Whatever can be held by one caller: `acquire` and `run` wait while it is held. */
export function holdable(
  lock: {
    acquire(options?: WaitOptions): Promise<{ release(): unknown }>;
    tryAcquire(): { release(): unknown } | undefined | Promise<{ release(): unknown } | undefined>;
    run(fn: () => unknown, options?: WaitOptions): Promise<unknown>;
    readonly waiting?: number;
  },
  blocker: Pick<typeof lock, "tryAcquire"> = lock,
  prefix = "",
): Record<string, Call> {
  const { waiting } = lock;
  const common = {
    block: () => {
      const guard = blocker.tryAcquire();
      if (guard instanceof Promise) return guard.then((lease) => () => lease?.release());
      return () => guard?.release();
    },
    ...(waiting === undefined ? {} : { waiting: () => lock.waiting! }),
  };
  return {
    [`${prefix}acquire`]: { ...common, wait: (options) => passing(lock.acquire(options)) },
    [`${prefix}run`]: { ...common, wait: (options) => lock.run(() => "done", options) },
  };
}
