/** Limited concurrency, of other packages. */
import { limitAsync } from "es-toolkit";
import fastq from "fastq";
import pLimit from "p-limit";
import pMap, { pMapIterable, pMapSettled } from "p-map";
import PQueue from "p-queue";

type Call = (n: number) => Promise<number>;

const work: Call = (n) => Promise.resolve(n);

export const calls: Readonly<Record<string, () => Call>> = {
  "es-toolkit limitAsync": () => limitAsync(work, 10),
  "p-limit": () => {
    const limit = pLimit(10);
    return (n) => limit(work, n);
  },
  "p-queue": () => {
    const queue = new PQueue({ concurrency: 10 });
    return (n) => queue.add(() => work(n)) as Promise<number>;
  },
  "fastq": () => {
    const queue = fastq.promise(work, 10);
    return (n) => queue.push(n);
  },
};

export const maps = {
  "p-map": () => (list: readonly number[], fn: Call) => pMap(list, fn, { concurrency: 10 }),
};

export const loops = {
  "p-map pMapIterable": () => async (list: readonly number[], fn: Call) => {
    const results: number[] = [];
    for await (const result of pMapIterable(list, fn, { concurrency: 10 })) results.push(result);
    return results;
  },
};

export const settled = {
  "p-map pMapSettled": () => async (list: readonly number[], fn: Call) =>
    (await pMapSettled(list, fn, { concurrency: 10 })).map((one) => one.status === "fulfilled" ? one.value : NaN),
};
