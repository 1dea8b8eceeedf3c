/**
 * The place of a lock in the order in which `acquireAll` acquires. Each class registers its places under a symbol, so
 * that `acquireAll` does not depend on any class, local or remote.
 *
 * @module
 */

/** Two objects with the same place are the same lock, which a call cannot hold twice. */
export interface Place {
  /** The owner shared by both sides of a RwLock, or by all keys of a mutex. */
  readonly owner: object;
  /** The key, if `owner` has many. */
  readonly key?: unknown;
  /** The remote name, the same text in every process; undefined for local locks. */
  readonly remote?: string;
}

const PLACE = Symbol.for("@interlock/interlock place");
/** Set only on objects of this copy of the module. */
const OWN = /* @__PURE__ */ Symbol("own place");

/** Gives the instances of a class their places. */
export function setPlace<T extends object>(
  { prototype }: { readonly prototype: T },
  placeOf: (thing: T) => Place,
): void {
  (prototype as Placed<T>)[PLACE] = placeOf;
  (prototype as Placed<T>)[OWN] = true;
}

/** Returns the place of an object; undefined if it has none. */
export function placeOf<T>(thing: T): Place | undefined {
  return (thing as Placed<T> | null | undefined)?.[PLACE]?.(thing);
}

/** Whether only another copy of the module can compare its place: each copy numbers its own local locks. */
export function isOfAnotherCopy<T>(thing: T): boolean {
  const place = placeOf(thing);
  return place !== undefined && place.remote === undefined && (thing as Placed<T>)[OWN] === undefined;
}

interface Placed<T> {
  [OWN]?: true;
  [PLACE]?: (thing: T) => Place;
}
