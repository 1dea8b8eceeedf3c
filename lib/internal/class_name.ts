/**
 * Sets the exported names of classes, which bundlers would change.
 *
 * @module
 */

/** Sets the name of a class. */
export function setClassName(Class: object, name: string): void {
  Object.defineProperty(Class, "name", { value: name, configurable: true });
}

/** The name of an object's class, or of the nearest class above that has one; "" if there is none. */
export function classOf(thing: object | null): string {
  if (thing === null) return "";
  return (thing as { constructor?: { name?: string } }).constructor?.name || classOf(Object.getPrototypeOf(thing));
}

/** Whether an object's class has this name, in this or another copy of the module. */
export function isNamed(thing: unknown, name: string): boolean {
  for (let obj = Object(thing); obj !== null; obj = Object.getPrototypeOf(obj)) if (classOf(obj) === name) return true;
  return false;
}
