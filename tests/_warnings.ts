/** Process warnings: about failures that no caller has observed, about listeners, and of shutdowns. */
import process from "node:process";
import { type FakeTime, nextTurn, withFakeTime } from "./_tools.ts";

interface Warning extends Error {
  readonly code?: string;
}

/** Those that are wanted, and emitted while `fn` runs. */
async function warningsOf(isWanted: (warning: Warning) => boolean, fn: () => Promise<unknown>): Promise<Warning[]> {
  const warnings: Warning[] = [];
  const collect = (warning: Warning) => void (isWanted(warning) && warnings.push(warning));
  await nextTurn(); // those of earlier tests may still be on their way
  process.on("warning", collect);
  try {
    await fn();
    await nextTurn();
    await nextTurn();
  } finally {
    process.off("warning", collect);
  }
  return warnings;
}

const messages = (warnings: readonly Warning[]) => warnings.map(({ message }) => message);

/** Those about failures, emitted while `fn` runs under a fake clock. */
export async function unobservedWarnings(fn: (time: FakeTime) => Promise<void>): Promise<string[]> {
  return messages(await warningsOf(({ code }) => code === "INTERLOCK_UNOBSERVED", () => withFakeTime(fn)));
}

/** Those about too many listeners while `fn` runs. */
export async function leakWarnings(fn: () => Promise<void>): Promise<string[]> {
  return messages(await warningsOf(({ name }) => name === "MaxListenersExceededWarning", fn));
}

/** Those of shutdowns while `fn` runs. */
export function shutdownWarnings(fn: () => Promise<unknown>): Promise<Warning[]> {
  return warningsOf(({ code = "" }) => /^INTERLOCK_(NOT_|FORCED|WEB_|CUT_|WORKER)/.test(code), fn);
}
