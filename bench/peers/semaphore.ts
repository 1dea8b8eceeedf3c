/** Semaphores of other packages. */
import { Semaphore as AsyncSemaphore } from "async-mutex";
import { Sema } from "async-sema";
import { Semaphore as EsToolkitSemaphore } from "es-toolkit";
import type { Locking } from "../_work.ts";

export const semaphores: Readonly<Record<string, () => Locking>> = {
  "es-toolkit": () => new EsToolkitSemaphore(10),
  "async-sema": () => new Sema(10) as unknown as Locking,
  "async-mutex": () => {
    const semaphore = new AsyncSemaphore(10);
    return { acquire: () => semaphore.acquire(), release: ([, release]: [number, () => void]) => release() };
  },
};
