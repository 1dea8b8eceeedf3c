/**
 * Private state that a class exposes to other files: a lock its mutex to Condition, a lock or key its identity to
 * `acquireAll`, and every class with state to the tests that check its invariants. It stands under a symbol on the
 * prototype, so that its readers depend on no class, local or remote.
 *
 * @module
 */

const STATE = Symbol.for("@interlock/interlock state");

interface Exposing<T> {
  [STATE]?: (thing: T) => unknown;
}

/** Makes `read` the way to the private state of a class's instances. */
export function exposeState<T extends object>(Class: { readonly prototype: T }, read: (thing: T) => unknown): void {
  (Class.prototype as Exposing<T>)[STATE] = read;
}

/** Returns the exposed state of an object; undefined if its class exposes none. */
export function stateOf<S>(thing: unknown): S {
  return (thing as Exposing<unknown> | null | undefined)?.[STATE]?.(thing) as S;
}

/** What `acquireAll` orders by. Two objects with the same identity are the same lock, which a call cannot hold twice. */
export interface LockIdentity {
  /** The owner shared by both sides of a RwLock, or by all keys of a mutex. */
  readonly owner: object;
  /** The key, if `owner` has many. */
  readonly key?: unknown;
  /** The remote name, the same text in every process; undefined for local locks. */
  readonly remote?: string;
  /** {@linkcode COPY}, for local locks: each copy of the module numbers its own. */
  readonly copy?: typeof COPY;
}

/** Returns the identity of a lock or key; undefined for anything else. */
export function identityOf(thing: unknown): LockIdentity | undefined {
  const identity = stateOf<LockIdentity | undefined>(thing);
  return identity?.owner === undefined ? undefined : identity;
}

/** Stands for this copy of the module. */
export const COPY: unique symbol = /* @__PURE__ */ Symbol();
