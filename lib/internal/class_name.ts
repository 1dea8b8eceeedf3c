/**
 * The names under which classes are exported. Bundlers rename them, so each has its name under a symbol as well.
 *
 * @module
 */

const NAME = Symbol.for("@interlock/interlock class");

/** Names a class. */
export function nameClass({ prototype }: { readonly prototype: object }, name: string): void {
  Object.defineProperty(prototype, NAME, { value: name });
}

/** The name of a thing's class: the one that it was given, or else its own; "" where it has none. */
export function classOf(thing: object): string {
  const { constructor, [NAME]: name = "" } = thing as { constructor?: { name?: string }; [NAME]?: string };
  const isNamed = name !== "" && Object.hasOwn(Object.getPrototypeOf(thing), NAME);
  return isNamed ? name : constructor?.name || name;
}

/** Whether a thing is an instance of a class that was given this name, in this or another copy of the module. */
export function isNamed(thing: unknown, name: string): boolean {
  for (let one = Object(thing); one !== null; one = Object.getPrototypeOf(one)) {
    if (Object.hasOwn(one, NAME) && one[NAME] === name) return true;
  }
  return false;
}
