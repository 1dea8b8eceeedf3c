/** Semaphores and read-write locks of other packages. */
import { AsyncReaderWriterLock } from "@esfx/async-readerwriterlock";
import { Semaphore as AsyncSemaphore } from "async-mutex";
import { Sema } from "async-sema";
import { Semaphore as EsToolkitSemaphore } from "es-toolkit";
import type { Locking, Sides } from "../_work.ts";

export const semaphores: Readonly<Record<string, () => Locking>> = {
  "es-toolkit": () => new EsToolkitSemaphore(10),
  "async-sema": () => new Sema(10) as unknown as Locking,
  "async-mutex": () => {
    const semaphore = new AsyncSemaphore(10);
    return { acquire: () => semaphore.acquire(), release: ([, release]: [number, () => void]) => release() };
  },
};

export const readWriteLocks: Readonly<Record<string, () => Sides>> = {
  "@esfx/async-readerwriterlock": () => {
    const lock = new AsyncReaderWriterLock();
    const side = (take: () => Promise<{ unlock(): unknown }>) => async () => {
      const handle = await take();
      return () => void handle.unlock();
    };
    return { read: side(() => lock.read()), write: side(() => lock.write()) };
  },
};
