/** Which test files there are, and which kind each of them is. */
import { readdirSync, readFileSync } from "node:fs";

/** One run-time proves these for all: texts, types, bundles, and models that know no platform. */
const SAME_EVERYWHERE =
  /^tests\/((docs|shape\/shape|shape\/rules|size|timelines|snippets|run_times|reports|gate|types)_test|explore\/)/;

/** Text by which a test file shows that it is random. */
const RANDOM = /\b(seeded|walkActing|_walk\.ts)\b/;

/** Text by which a test file shows that the deep run goes further in it. */
const DEEP = /\b(seeded|walkActing|_walk\.ts|deeply)\b/;

function testFiles(isWanted: (file: string) => boolean): string[] {
  return readdirSync("tests", { recursive: true, encoding: "utf8" })
    .map((file) => `tests/${file.replaceAll("\\", "/")}`)
    .filter((file) => /[a-z]_test\.ts$/.test(file) && isWanted(file))
    .sort();
}

/** The scripts explored, for minutes: the deep run alone has them, and one run-time proves them for all. */
const MODELS = /^tests\/redis\/model\/(?!store_walk)/;

/** Guards races by brute force, or starts many processes. Runs on other run-times, too, if they may differ. */
const BRUTE_FORCE = /acting\w*_walker_test\.ts$|^tests\/(explore\/|(one_failure|gate|demo|diagnostics\/growth)_test)/;

/** Everything but tests/long, tests/jsr and the models. */
export const everywhere = (): string[] => testFiles((file) => !/^tests\/(long|jsr)\//.test(file) && !MODELS.test(file));

/** What `deno task test` runs: everything that the deep run does not have to itself. */
export const everyday = (): string[] => everywhere().filter((file) => !BRUTE_FORCE.test(file));

export const longFiles = (): string[] => testFiles((file) => /^tests\/long\/\w+\.ts/.test(file));

/** Whether a run-time may behave differently in this file than another one. */
export const differs = (file: string): boolean => !SAME_EVERYWHERE.test(file);

export const deepFiles = (): string[] =>
  testFiles((file) =>
    !/^tests\/(long|jsr)\//.test(file) &&
    (MODELS.test(file) || BRUTE_FORCE.test(file) || DEEP.test(readFileSync(file, "utf8")))
  );

export const randomFiles = (): string[] => everywhere().filter((file) => RANDOM.test(readFileSync(file, "utf8")));
