/** A lock for each key, of other packages. */
import AsyncLock from "async-lock";
import { Mutex as EsToolkitMutex } from "es-toolkit";
import type { Locking, Run } from "../_work.ts";

export const keyed: Readonly<Record<string, () => Locking>> = {
  /** Written by hand; its entries are never removed. */
  "es-toolkit in a Map": () => {
    const mutexes = new Map<number, EsToolkitMutex>();
    return {
      acquire: (key) => {
        let mutex = mutexes.get(key);
        if (mutex === undefined) mutexes.set(key, mutex = new EsToolkitMutex());
        return mutex.acquire();
      },
      release: (_, key) => mutexes.get(key)!.release(),
    };
  },
};

export const keyedRuns: Readonly<Record<string, () => Run>> = {
  "async-lock": () => {
    const lock = new AsyncLock();
    return (fn, key) => lock.acquire(String(key), fn);
  },
};
