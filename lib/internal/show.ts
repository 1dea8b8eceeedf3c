/**
 * The text that `console.log` shows of a public object: its class and its public state. Deno, Node and Bun all look
 * for the same symbol.
 *
 * @module
 */

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

interface Shown {
  [INSPECT]?: (depth: number, options: unknown, inspect: (value: unknown, options: unknown) => string) => string;
}

/**
 * Shows the state of all instances of a class, without members that are undefined.
 *
 * @param state The getters to show, or a function that returns what to show.
 * @param publicName The name that users know a private class by, in error messages, too. Default: its own.
 */
export function show<T extends object>(
  shownClass: { readonly prototype: T; readonly name: string },
  state: readonly (keyof T & string)[] | ((thing: T) => object),
  publicName = shownClass.name,
): void {
  Object.defineProperty(shownClass, "name", { value: publicName });
  const read = typeof state === "function" ? state : readerOf(state);
  (shownClass.prototype as Shown)[INSPECT] = function (this: Shown, _, options, inspect) {
    let members: [string, unknown][] = [];
    try {
      members = Object.entries(read(this as T));
    } catch { /* a prototype has no state */ }
    const shown = Object.fromEntries(members.filter(([, value]) => value !== undefined));
    return `${this.constructor.name} ${inspect(shown, options)}`;
  };
}

function readerOf<T extends object>(keys: readonly (keyof T & string)[]): (thing: T) => object {
  return (thing) => Object.fromEntries(keys.map((key) => [key, thing[key]]));
}
