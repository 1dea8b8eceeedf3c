/** The process warnings about failures that no caller has observed. */
import process from "node:process";
import { type FakeTime, nextTurn, withFakeTime } from "./_tools.ts";

interface Warning extends Error {
  readonly code?: string;
}

/** Those emitted while `fn` runs under a fake clock. */
export async function unobservedWarnings(fn: (time: FakeTime) => Promise<void>): Promise<string[]> {
  const warnings: string[] = [];
  const collect = (warning: Warning) => {
    if (warning.code === "INTERLOCK_UNOBSERVED") warnings.push(warning.message);
  };
  process.on("warning", collect);
  try {
    await withFakeTime(fn);
    await nextTurn();
    await nextTurn();
  } finally {
    process.off("warning", collect);
  }
  return warnings;
}

/** Those about too many listeners while `fn` runs. Others may be of earlier tests of the process. */
export async function leakWarnings(fn: () => Promise<void>): Promise<string[]> {
  const warnings: string[] = [];
  const collect = ({ name, message }: Error) => void (name === "MaxListenersExceededWarning" && warnings.push(message));
  process.on("warning", collect);
  try {
    await fn();
    await nextTurn();
  } finally {
    process.off("warning", collect);
  }
  return warnings;
}

/** Those of shutdowns while `fn` runs. */
export async function shutdownWarnings(fn: () => Promise<unknown>): Promise<Warning[]> {
  const warnings: Warning[] = [];
  const collect = (warning: Warning) => {
    if (/^INTERLOCK_(NOT_|FORCED|WEB_|CUT_|WORKER)/.test(warning.code ?? "")) warnings.push(warning);
  };
  await nextTurn(); // those of earlier tests may still be on their way
  process.on("warning", collect);
  try {
    await fn();
    await nextTurn();
  } finally {
    process.off("warning", collect);
  }
  return warnings;
}
