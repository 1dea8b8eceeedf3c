/**
 * Sets the exported names of classes, which bundlers would change.
 *
 * @module
 */

/** Names a class. */
export function nameClass(Class: object, name: string): void {
  Object.defineProperty(Class, "name", { value: name, configurable: true });
}

/** The name of an object's class; "" if it has none. */
export function classOf(thing: object): string {
  return (thing as { constructor?: { name?: string } }).constructor?.name ?? "";
}

/** Whether an object's class has this name, in this or another copy of the module. */
export function isNamed(thing: unknown, name: string): boolean {
  for (let one = Object(thing); one !== null; one = Object.getPrototypeOf(one)) if (classOf(one) === name) return true;
  return false;
}
