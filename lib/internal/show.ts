/**
 * The text that `console.log` shows of a public object: its class and some of its state. Deno, Node and Bun all look
 * for the same symbol.
 *
 * @module
 */

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

interface Shown {
  [INSPECT]?: (depth: number, options: unknown, inspect: (value: unknown, options: unknown) => string) => string;
}

/**
 * Shows these members of all instances of a class, without those that are undefined. A private class has a static `name`
 * for its users.
 *
 * @param stateOf Returns the object that has the members. Default: the instance.
 */
export function show<T extends object, S extends object = T>(
  { prototype }: { readonly prototype: T },
  keys: readonly (keyof S & string)[],
  stateOf?: (thing: T) => S,
): void {
  (prototype as Shown)[INSPECT] = function (this: Shown, _, options, inspect) {
    const shown: Record<string, unknown> = {};
    try {
      const state = (stateOf?.(this as T) ?? this) as S;
      for (const key of keys) if (state[key] !== undefined) shown[key] = state[key];
    } catch { /* a prototype has no state */ }
    return `${this.constructor.name} ${inspect(shown, options)}`;
  };
}
