/** `tests/_test.ts` for browsers: tests are collected, and run one after the other when `run` is called. */
const tests = [];

export const runtime = "node";

export function test(name, fn) {
  tests.push({ name, fn });
}

// Taken before a test puts a fake clock in their place.
const { setTimeout, clearTimeout } = globalThis;

function inTime(body, ms) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`stuck for ${ms} ms`)), ms);
    Promise.resolve(body()).then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Runs all; returns the failures, and how many passed. */
export async function run() {
  const failures = [];
  for (const { name, fn } of tests) {
    try {
      await inTime(fn, 60_000);
    } catch (error) {
      const cause = error?.cause === undefined ? "" : `\n${error.cause?.stack ?? error.cause}`;
      failures.push(`${name}\n${error?.stack ?? error}${cause}`);
    }
  }
  return { passed: tests.length - failures.length, failures };
}
