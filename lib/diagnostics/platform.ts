/**
 * Platform features that may be missing: built-in modules, without an import that would fail in a browser.
 *
 * @module
 */

interface ProcessLike {
  getBuiltinModule?(id: string): unknown;
}

/** The module, or undefined in a browser and in Node before 20.16. */
export function builtin<T>(id: string): T | undefined {
  return (globalThis as { process?: ProcessLike }).process?.getBuiltinModule?.(`node:${id}`) as T | undefined;
}

/** Throws the error where no caller can catch it, as the platform does with errors of event listeners. */
export function throwUncaught(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
