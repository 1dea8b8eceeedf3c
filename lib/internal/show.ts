/**
 * The text that `console.log` shows of a public object: its class and some of its state. Deno, Node and Bun all look for
 * the same symbol.
 *
 * @module
 */

/**
 * Shows these members of all instances of a class, without those that are undefined. A private class has a static `name`
 * for its users.
 *
 * @param stateOf Returns the object that has the members. Default: the instance.
 */
export function show<T extends object, S extends object = T>(
  { prototype }: { readonly prototype: T },
  keys: readonly (keyof S & string)[],
  stateOf = (thing: T): S => thing as unknown as S,
): void {
  (prototype as Record<symbol, Inspect>)[Symbol.for("nodejs.util.inspect.custom")] = function (_, options, inspect) {
    const shown: Record<string, unknown> = {};
    try {
      for (const key of keys) if (stateOf(this as T)[key] !== undefined) shown[key] = stateOf(this as T)[key];
    } catch { /* a prototype has no state */ }
    return `${this.constructor.name} ${inspect(shown, options)}`;
  };
}

type Inspect = (
  this: object,
  depth: number,
  options: unknown,
  inspect: (value: unknown, options: unknown) => string,
) => string;
