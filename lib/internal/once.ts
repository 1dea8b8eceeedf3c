/**
 * One value for each object. Invariant: it is created on first use, and lives no longer than its object.
 *
 * @module
 */

/** Returns a function that creates an object's value once, and returns that value from then on. */
export function onceFor<K extends WeakKey, V>(make: (key: K) => V): (key: K) => V {
  const values = new WeakMap<K, V>();
  return (key) => {
    let value = values.get(key);
    if (value === undefined) values.set(key, value = make(key));
    return value;
  };
}
