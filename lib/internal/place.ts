/**
 * The place of a thing in the one order in which `acquireAll` acquires. Everything that has one registers it with its
 * class, under a symbol, so that `acquireAll` knows no class, local or remote.
 *
 * @module
 */

/** Two things with the same place are the same thing, which a call cannot hold twice. */
export interface Place {
  /** The object that everything in this place shares, such as both sides of a RwLock, or all keys of a mutex. */
  readonly owner: object;
  /** The key, where `owner` has many. */
  readonly key?: unknown;
  /** For remote things: their name there, the same text in every process. */
  readonly remote?: string;
}

const PLACE = Symbol.for("@interlock/interlock place");
/** On the things of this copy of the module only. */
const OWN = /* @__PURE__ */ Symbol("own place");

/** Gives the instances of a class their places. */
export function setPlace<T extends object>(
  { prototype }: { readonly prototype: T },
  placeOf: (thing: T) => Place,
): void {
  (prototype as Placed<T>)[PLACE] = placeOf;
  (prototype as Placed<T>)[OWN] = true;
}

/** The place of anything; undefined if it has none. */
export function placeOf<T>(thing: T): Place | undefined {
  return (thing as Placed<T> | null | undefined)?.[PLACE]?.(thing);
}

/** Whether it has a place that only another copy of the module can compare: each copy numbers local things by itself. */
export function isOfAnotherCopy<T>(thing: T): boolean {
  const place = placeOf(thing);
  return place !== undefined && place.remote === undefined && (thing as Placed<T>)[OWN] === undefined;
}

interface Placed<T> {
  [OWN]?: true;
  [PLACE]?: (thing: T) => Place;
}
