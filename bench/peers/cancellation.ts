/** Waits of another package that a signal ends. */
import PQueue from "p-queue";

export const bySignal = {
  "p-queue": () => {
    const queue = new PQueue({ concurrency: 1 });
    void queue.add(() => new Promise(() => {}));
    return (signal: AbortSignal) => queue.add(() => Promise.resolve(), { signal });
  },
};
