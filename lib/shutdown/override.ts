/**
 * Replacing a method of an object that belongs to the platform or the user.
 *
 * @module
 */

/** Replaces a method. Returns a function that restores it, unless it was replaced again. */
export function override<T extends object, K extends keyof T>(target: T, name: K, method: T[K]): () => void {
  // Undefined if the method is inherited.
  const original = Object.getOwnPropertyDescriptor(target, name);
  target[name] = method;
  return () => {
    if (target[name] !== method) return;
    delete target[name];
    if (original !== undefined) Object.defineProperty(target, name, original);
  };
}
