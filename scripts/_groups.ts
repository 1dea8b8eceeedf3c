/**
 * Test files that share a process: to start one and load what they need takes longer than most of their tests. A group is
 * a file that imports its members, as Node 20 has no `--test-isolation`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** How many processes run at the same time: half of their time the tests wait, for a process, a server or a timer. */
export const JOBS = 2 * availableParallelism();

/** Parts of about the same size. Neighbours, which take about the same time, are in different parts. */
export function parts(files: readonly string[], count: number): string[][] {
  const most = Math.min(files.length, count);
  return Array.from({ length: most }, (_, i) => files.filter((_, index) => index % most === i));
}

/** Of a file whose tests those of other files would disturb: a comment that says why. */
const ALONE = /^\/\/ Alone: /m;

/**
 * Of one that is alone in Node, too: it waits while it is loaded, in which Node would run the tests of a group's other
 * files, or it fetches: in Node 20 a client that is no longer used throws some seconds later.
 */
const ALONE_IN_NODE = /^(const \w+ = )?await |\bfetch\(/m;

/** To load the clients of Redis takes four times as long as all the rest: few groups have them. */
const LOADS_CLIENTS = /^tests\/redis\//;

/** Writes groups into the folder: several for each process at work, so that none is idle for long at the end. */
export function groupsOf(files: readonly string[], folder: string, isNode = false): string[] {
  const alone = files.filter((file) => {
    const text = readFileSync(file, "utf8");
    return ALONE.test(text) || (isNode && ALONE_IN_NODE.test(text));
  });
  const others = files.filter((file) => !alone.includes(file));
  const [redis, rest] = [true, false].map((is) => others.filter((file) => LOADS_CLIENTS.test(file) === is));
  const groups = [...parts(redis!, 2 * JOBS), ...parts(rest!, 2 * JOBS)].map((part, i) => {
    const group = join(folder, `group${i}_test.mjs`);
    writeFileSync(group, part.map((file) => `import ${JSON.stringify(pathToFileURL(file).href)};\n`).join(""));
    return group;
  });
  return [...groups, ...alone];
}
