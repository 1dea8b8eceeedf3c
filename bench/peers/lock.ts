/** Locks of other packages. */
import AsyncLock from "async-lock";
import { Mutex as AsyncMutex } from "async-mutex";
import { Sema } from "async-sema";
import AwaitLock from "await-lock";
import { Mutex as EsToolkitMutex } from "es-toolkit";
import pLimit from "p-limit";
import type { Locking, Run } from "../_work.ts";

/** `run` by hand, for packages that have only acquire and release. */
function byHand(lock: { acquire(): Promise<unknown>; release(): void }): Run {
  return async (fn) => {
    await lock.acquire();
    try {
      return await fn();
    } finally {
      lock.release();
    }
  };
}

export const locks: Readonly<Record<string, () => Locking>> = {
  "async-sema": () => new Sema(1) as unknown as Locking,
  "await-lock": () => {
    const lock = new AwaitLock();
    return { acquire: () => lock.acquireAsync(), release: () => lock.release() };
  },
  "es-toolkit": () => new EsToolkitMutex(),
  "async-mutex": () => {
    const mutex = new AsyncMutex();
    return { acquire: () => mutex.acquire(), release: (release: () => void) => release() };
  },
};

export const runs: Readonly<Record<string, () => Run>> = {
  "async-lock": () => {
    const lock = new AsyncLock();
    return (fn) => lock.acquire("key", fn);
  },
  "es-toolkit, by hand": () => byHand(new EsToolkitMutex()),
  "p-limit(1)": () => {
    const limit = pLimit(1);
    return (fn) => limit(fn);
  },
  "async-mutex": () => {
    const mutex = new AsyncMutex();
    return (fn) => mutex.runExclusive(fn);
  },
};
