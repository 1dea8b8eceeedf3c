/** Functions for a pool that end on command. */

/** A function that ends on command. */
export class Job {
  finish: (value?: unknown) => void = () => {};
  fail: (error: unknown) => void = () => {};
  started = false;
  readonly fn = (signal?: AbortSignal): Promise<unknown> => {
    this.started = true;
    this.signal = signal;
    return new Promise((resolve, reject) => {
      this.finish = resolve;
      this.fail = reject;
    });
  };
  signal: AbortSignal | undefined;
}

export const jobs = (count: number) => Array.from({ length: count }, () => new Job());
export const startedOf = (all: Job[]) => all.map((job) => job.started ? "x" : "-").join("");
