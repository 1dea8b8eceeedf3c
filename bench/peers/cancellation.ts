/** Waits of other packages that end by a signal or by their time. */
import { Mutex as AsyncMutex, withTimeout } from "async-mutex";
import PQueue from "p-queue";

export const bySignal = {
  "p-queue": () => {
    const queue = new PQueue({ concurrency: 1 });
    void queue.add(() => new Promise(() => {}));
    return (signal: AbortSignal) => queue.add(() => Promise.resolve(), { signal });
  },
};

export const byTime = {
  "async-mutex withTimeout": () => {
    const mutex = new AsyncMutex();
    void mutex.acquire();
    const timed = withTimeout(mutex, 1);
    return () => timed.acquire();
  },
};
