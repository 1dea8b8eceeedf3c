/**
 * One value for each object. Invariant: it is made when it is first asked for, and lives no longer than its object.
 *
 * @module
 */

/** Returns a function that makes the value of an object once, and returns the same one from then on. */
export function onceFor<K extends WeakKey, V>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, V>();
  return (key) => {
    let value = made.get(key);
    if (value === undefined) made.set(key, value = make(key));
    return value;
  };
}
