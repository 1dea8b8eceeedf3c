/** A lock for each key, of another package. */
import AsyncLock from "async-lock";
import type { Run } from "../_work.ts";

export const keyedRuns: Readonly<Record<string, () => Run>> = {
  "async-lock": () => {
    const lock = new AsyncLock();
    return (fn, key) => lock.acquire(String(key), fn);
  },
};
