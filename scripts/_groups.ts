/**
 * Test files that share a process: to start one and load what they need takes longer than most of their tests. A group is
 * a file that imports its members.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** How many processes run at the same time: half of their time the tests wait, for a process, a server or a timer. */
export const JOBS = 2 * availableParallelism();

/** Parts of about the same size. Neighbours, which take about the same time, are in different parts. */
export function parts(files: readonly string[], count: number): string[][] {
  const most = Math.min(files.length, count);
  return Array.from({ length: most }, (_, i) => files.filter((_, index) => index % most === i));
}

/**
 * Of a file that waits while it is loaded, in which Node would run the tests of a group's other files, or that fetches:
 * in Node 20 a client that is no longer used throws some seconds later.
 */
const ALONE = /^(const \w+ = )?await |\bfetch\(/m;

export class Groups implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "interlock-groups-"));

  /** Several groups for each process at work, so that none is idle for long at the end. */
  of(files: readonly string[]): string[] {
    const alone = files.filter((file) => ALONE.test(readFileSync(file, "utf8")));
    const groups = parts(files.filter((file) => !alone.includes(file)), 4 * JOBS).map((part, i) => {
      const group = join(this.#folder, `group${i}_test.mjs`);
      writeFileSync(group, part.map((file) => `import ${JSON.stringify(pathToFileURL(file).href)};\n`).join(""));
      return group;
    });
    return [...alone, ...groups];
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}
