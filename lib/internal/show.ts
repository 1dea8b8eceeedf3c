/**
 * The text that `console.log` shows of a public object: its class and some of its state. Deno, Node and Bun look for
 * the same symbol.
 *
 * @module
 */
import { printable } from "./check.ts";
import { classOf, setClassName } from "./class_name.ts";

/** The member of type {@linkcode Inspect} that makes the text. */
export const INSPECT: symbol = /* @__PURE__ */ Symbol.for("nodejs.util.inspect.custom");

/**
 * Shows these members of a class's instances. Undefined members are left out, and so is `closed` while it is false.
 *
 * @param name The exported name of the class: bundlers rename classes.
 * @param stateOf Returns the object that has the members. Default: the instance.
 */
export function printAs<T extends object, S extends object = T>(
  Class: { readonly prototype: T },
  name: string,
  keys: readonly (keyof S & string)[],
  stateOf = (thing: T): S => thing as unknown as S,
): void {
  setClassName(Class, name);
  (Class.prototype as Record<symbol, Inspect>)[INSPECT] = function (_, options, inspect) {
    const shown: Record<string, unknown> = {};
    try {
      const state = stateOf(this as T);
      for (const key of keys) if (state[key] || state[key] !== undefined && key !== "closed") shown[key] = state[key];
    } catch { /* a prototype has no state */ }
    return `${printable(classOf(this))} ${inspect(shown, options)}`;
  };
}

export type Inspect = (
  this: object,
  depth: number,
  options: unknown,
  inspect: (value: unknown, options: unknown) => string,
) => string;
