/**
 * Sorts locks by their places. Invariant: all calls agree on the order of all locks, so they never wait for each other
 * in a cycle.
 *
 * Local locks come first, by a number that each gets when it is first sorted and keeps for life, and the keys of one
 * mutex by their text. Remote locks come last, sorted by their text, which is the same in every process.
 *
 * @module
 */
import { checkCopy, must } from "./check.ts";
import { COPY, identityOf, type LockIdentity } from "./state.ts";

/** One item of a list. */
export interface OrderedLock<T> {
  readonly lock: T;
  /** Its position in the list. */
  readonly index: number;
  /** The remote name; empty for a local lock. */
  readonly remote: string;
  /** The number of its owner, by `numberOf`. */
  readonly owner: number;
  /** The text of its key; empty for an item without a key. */
  readonly key: string;
}

/**
 * Returns the items of a list in the order in which to acquire them.
 *
 * @throws {TypeError} when an item has no identity, or is there twice.
 */
export function inLockOrder<T>(list: readonly T[]): OrderedLock<T>[] {
  const locks = sortLocks(list.map(toOrdered));
  for (let i = 1; i < locks.length; i++) checkDistinct(locks[i - 1]!, locks[i]!);
  return locks;
}

function toOrdered<T>(lock: T, index: number): OrderedLock<T> {
  const identity = checkIdentity(lock, index);
  const { owner, remote = "" } = identity;
  return { lock, index, remote, owner: numberOf(owner), key: "key" in identity ? textOf(identity.key) : "" };
}

function checkIdentity(thing: unknown, index: number): LockIdentity {
  const identity = identityOf(thing);
  const rule = "be a lock, a semaphore, a side of a RwLock (rw.reader, rw.writer) or a key (mutex.at(key))";
  must(identity !== undefined, `list[${index}]`, rule, thing);
  checkCopy(identity.remote !== undefined || identity.copy === COPY, thing, `list[${index}]`);
  return identity;
}

/** The numbers given to objects and symbols so far. */
const numbers = /* @__PURE__ */ new WeakMap<WeakKey, number>();
/** The same of symbols that an engine takes as no weak keys: registered ones, and all of them in older engines. */
const symbolNumbers = /* @__PURE__ */ new Map<WeakKey, number>();
let lastNumber = 0;

/** The number of an object or symbol, in the order of first use. */
function numberOf(identity: WeakKey): number {
  const known = numbers.get(identity) ?? symbolNumbers.get(identity);
  if (known !== undefined) return known;
  const number = ++lastNumber;
  try {
    numbers.set(identity, number);
  } catch {
    symbolNumbers.set(identity, number);
  }
  return number;
}

/** Returns text that only this key has. */
function textOf(key: unknown): string {
  const hasIdentity = typeof key === "symbol" || Object(key) === key;
  return hasIdentity ? `${numberOf(key as WeakKey)}` : `${typeof key} ${key}`;
}

/** Compares two items directly, which is quicker than `sort`. */
function sortLocks<T>(locks: OrderedLock<T>[]): OrderedLock<T>[] {
  if (locks.length > 2) return locks.sort(compare);
  return locks.length === 2 && compare(locks[0]!, locks[1]!) > 0 ? locks.reverse() : locks;
}

function compare(a: OrderedLock<unknown>, b: OrderedLock<unknown>): number {
  return compareTexts(a.remote, b.remote) || a.owner - b.owner || compareTexts(a.key, b.key);
}

function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function checkDistinct(a: OrderedLock<unknown>, b: OrderedLock<unknown>): void {
  if (compare(a, b) !== 0) return;
  const [first, second] = [Math.min(a.index, b.index), Math.max(a.index, b.index)];
  const rule = "one call cannot hold it twice, remove the duplicate";
  throw new TypeError(`list[${second}] must not be the same as list[${first}]: ${rule}`);
}
