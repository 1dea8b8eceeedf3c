/**
 * Sorts locks by their places. Invariant: concurrent calls agree on the order of all locks, so they never wait for each
 * other in a cycle.
 *
 * Local locks are numbered when they are first sorted, and keep their numbers for life. Keys keep theirs while a call
 * in progress uses them. Remote locks come last, sorted by their text, which is the same in every process.
 *
 * @module
 */
import { must } from "./check.ts";
import { isOfAnotherCopy, type Place, placeOf } from "./place.ts";

/** The number of a key, and the number of calls that use it. */
interface KeyNumber {
  readonly number: number;
  users: number;
}

/** The numbers of an owner and of its keys, in the order of first use. */
class Numbers {
  static #owners = new WeakMap<object, Numbers>();
  static #last = 0;
  readonly number: number = ++Numbers.#last;
  readonly #keys = new Map<unknown, KeyNumber>();
  #lastKey = 0;

  static of(owner: object): Numbers {
    let numbers = Numbers.#owners.get(owner);
    if (numbers === undefined) Numbers.#owners.set(owner, numbers = new Numbers());
    return numbers;
  }

  /** Keeps the number of a key until it is unpinned as often as it was pinned. */
  pin(key: unknown): KeyNumber {
    let pinned = this.#keys.get(key);
    if (pinned === undefined) this.#keys.set(key, pinned = { number: ++this.#lastKey, users: 0 });
    pinned.users++;
    return pinned;
  }

  unpin(key: unknown, pinned: KeyNumber): void {
    if (--pinned.users === 0) this.#keys.delete(key);
  }
}

/** One item of a list. */
class Entry<T> {
  readonly thing: T;
  /** Its position in the list. */
  readonly index: number;
  readonly place: Place;
  readonly numbers: Numbers;
  /** Undefined for an item without a key. */
  readonly key: KeyNumber | undefined;

  constructor(thing: T, index: number, place: Place) {
    this.thing = thing;
    this.index = index;
    this.place = place;
    this.numbers = Numbers.of(place.owner);
    this.key = "key" in place ? this.numbers.pin(place.key) : undefined;
  }

  get isLocal(): boolean {
    return this.place.remote === undefined;
  }
}

/** The order of one list, from the start of a call to its end. */
export class LockOrder<T> {
  /** In the order in which to acquire them, local before remote. */
  readonly entries: readonly Entry<T>[];

  /**
   * @throws {TypeError} for an item without a place, and for the same item twice.
   */
  constructor(list: readonly T[]) {
    const places = list.map(checkPlace);
    this.entries = sorted(list.map((thing, index) => new Entry(thing, index, places[index]!)));
    try {
      checkDistinct(this.entries);
    } catch (error) {
      this.unpin();
      throw error;
    }
  }

  /** Called once at the end of the call, to release the numbers of its keys. */
  unpin(): void {
    for (const { place, numbers, key } of this.entries) if (key !== undefined) numbers.unpin(place.key, key);
  }
}

function checkPlace(thing: unknown, index: number): Place {
  const place = placeOf(thing);
  const rule = "be a lock, a semaphore, a side of a RwLock (rw.reader, rw.writer) or a key (mutex.at(key))";
  must(place !== undefined, `list[${index}]`, rule, thing);
  const sameCopy = "be of the same copy of this module as acquireAll: there are two copies";
  must(!isOfAnotherCopy(thing), `list[${index}]`, sameCopy, thing);
  return place;
}

/** Compares two entries directly, which is quicker than `sort`. */
function sorted<T>(entries: Entry<T>[]): Entry<T>[] {
  if (entries.length > 2) return entries.sort(compare);
  return entries.length === 2 && compare(entries[0]!, entries[1]!) > 0 ? entries.reverse() : entries;
}

/** Local entries have no remote text, so they come first. */
function compare(a: Entry<unknown>, b: Entry<unknown>): number {
  const [one, other] = [a.place.remote ?? "", b.place.remote ?? ""];
  if (one !== other) return one < other ? -1 : 1;
  return a.numbers.number - b.numbers.number || (a.key?.number ?? 0) - (b.key?.number ?? 0);
}

function checkDistinct(entries: readonly Entry<unknown>[]): void {
  for (let i = 1; i < entries.length; i++) {
    const [before, entry] = [entries[i - 1]!, entries[i]!];
    if (compare(before, entry) !== 0) continue;
    const [first, second] = [before.index, entry.index].sort((a, b) => a - b);
    const rule = "one call cannot hold it twice, remove the duplicate";
    throw new TypeError(`list[${second}] must not be the same as list[${first}]: ${rule}`);
  }
}
