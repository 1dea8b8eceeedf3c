/**
 * Reporting of unobserved failures, when they are overdue and when the process runs out of work. Reporting does not
 * keep the process alive. Without a `process`, nothing is reported.
 *
 * @module
 */
import { onCancel } from "./cancellation.ts";
import { quote } from "./check.ts";
import { currentProcess, warn } from "./platform.ts";

/** Maximum number of owners that are asked when the process runs out of work. */
const MOST = 1000;
/** Milliseconds after which an unobserved failure is overdue. */
const OVERDUE = 10_000;

/** A pool or a task group with failures that its `join` would throw. */
export interface Failing {
  /** Its noun with its name. */
  readonly title: string;
  /** Whether a call of `join` waits, and so will throw the failures. */
  readonly isJoined: boolean;
  /** Called when the process has run out of work, so that no `join` can follow. */
  onExit(): void;
}

/** Calls `report` as soon as a failure is overdue and no `join` waits. Returns a function that stops this. */
export function whenOverdue(failing: Failing, report: () => void): () => void {
  if (!isReportable()) return () => {};
  const start = () => onCancel({ timeout: OVERDUE, keepsAlive: false }, onOverdue);
  const onOverdue = (): void => {
    if (failing.isJoined) timer = start(); // `join` may still be cancelled
    else report();
  };
  let timer = start();
  return () => timer.end();
}

/** Emits the process warning. `how` names the remedy. */
export function warnUnobserved({ title }: Failing, when: string, error: unknown, how: string): void {
  warn(`Failure in ${title} not observed ${when}: ${describe(error)}; ${how}`, "INTERLOCK_UNOBSERVED");
}

/** "for 10 s". */
export const FOR_LONG: string = `for ${OVERDUE / 1000} s`;

/** Formats an error in one line. */
function describe(error: unknown): string {
  try {
    return quote(String(error));
  } catch {
    return quote(error);
  }
}

/** The process has the listener exactly while this is not empty. */
const asked = /* @__PURE__ */ new Set<Failing>();

export function askAtExit(failing: Failing): void {
  if (!isReportable() || asked.size >= MOST) return;
  if (asked.size === 0) currentProcess()!.on!("beforeExit", onBeforeExit);
  asked.add(failing);
}

export function forgetAtExit(failing: Failing): void {
  if (asked.delete(failing) && asked.size === 0) currentProcess()?.off?.("beforeExit", onBeforeExit);
}

/** Browsers lack `process`, and bundlers replace it by one without events. */
function isReportable(): boolean {
  return currentProcess()?.on !== undefined;
}

function onBeforeExit(): void {
  for (const failing of [...asked]) failing.onExit();
}
