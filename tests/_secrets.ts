/**
 * The password of every server that the tests start. It occurs in no error that a test asserts on, which `watchErrors`
 * checks in all suites, and in no output: .ci/run looks for it in everything that was printed.
 */
import assert from "node:assert/strict";

export const PASSWORD = "unmistakable-5be1c0de";

/** The nearest this many objects of an error are looked at; some errors carry their whole client. */
const MOST = 1000;

/** Whether the text is in the error: in its message, stack or cause, or where a log of it would reach. No getter runs. */
function shows(error: unknown, text: string): boolean {
  const found = new Set<unknown>([error]);
  for (const value of found) {
    if (typeof value === "string" && value.includes(text)) return true;
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || found.size > MOST) continue;
    try {
      for (const field of Object.values(Object.getOwnPropertyDescriptors(value))) found.add(field.value);
    } catch {
      // A proxy that does not let itself be looked at.
    }
  }
  return false;
}

/** The error to fail with if the password shows in this one; it does not show there. */
export function leakIn(error: unknown): Error | undefined {
  if (!shows(error, PASSWORD)) return undefined;
  return new Error(`a password shows in an error: ${String((error as Error).stack).replaceAll(PASSWORD, "********")}`);
}

type Call = Promise<unknown> | (() => Promise<unknown>);

/** Makes `assert.rejects` check each error that reaches it, whatever the test expects of the error. */
export function watchErrors(): void {
  const { rejects } = assert;
  const watched = async (call: Call, ...expected: [never]): Promise<void> => {
    let leak: Error | undefined;
    const check = async (promise: Promise<unknown>): Promise<unknown> => {
      try {
        return await promise;
      } catch (error) {
        leak ??= leakIn(error);
        throw error;
      }
    };
    await rejects(typeof call === "function" ? () => check(call()) : check(call), ...expected);
    if (leak !== undefined) throw leak;
  };
  assert.rejects = watched as typeof rejects;
}
