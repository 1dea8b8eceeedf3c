/**
 * The text that `console.log` shows of a public object: its class and some of its getters. Deno, Node and Bun all look
 * for the same symbol.
 *
 * @module
 */

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

interface Shown {
  [INSPECT]?: (depth: number, options: unknown, inspect: (value: unknown, options: unknown) => string) => string;
}

/**
 * Shows these getters of all instances of a class, without those that are undefined.
 *
 * @param publicName The name that users know a private class by, in error messages, too. Default: its own.
 */
export function show<T extends object>(
  shownClass: { readonly prototype: T; readonly name: string },
  keys: readonly (keyof T & string)[],
  publicName = shownClass.name,
): void {
  Object.defineProperty(shownClass, "name", { value: publicName });
  (shownClass.prototype as Shown)[INSPECT] = function (this: Shown, _, options, inspect) {
    const state: Record<string, unknown> = {};
    for (const key of keys) {
      try {
        const value = (this as T)[key];
        if (value !== undefined) state[key] = value;
      } catch { /* a prototype has no state */ }
    }
    return `${this.constructor.name} ${inspect(state, options)}`;
  };
}
