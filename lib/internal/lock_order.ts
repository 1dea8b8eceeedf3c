/**
 * Sorts things by their places. Invariant: calls in progress at the same time agree on the order of all things, so they
 * never wait for each other in a circle.
 *
 * Local things are numbered when they are first sorted, for as long as they exist; keys for as long as a call in
 * progress uses them. Remote things are sorted by their text, which is the same in every process, and come last.
 *
 * @module
 */
import { must } from "./check.ts";
import { type Place, placeOf } from "./place.ts";

/** Numbers in the order of the first use, each kept while it is pinned. */
class KeyNumbers {
  readonly #pinned = new Map<unknown, { readonly number: number; users: number }>();
  #last = 0;

  pin(key: unknown): number {
    let pinned = this.#pinned.get(key);
    if (pinned === undefined) this.#pinned.set(key, pinned = { number: ++this.#last, users: 0 });
    pinned.users++;
    return pinned.number;
  }

  unpin(key: unknown): void {
    if (--this.#pinned.get(key)!.users === 0) this.#pinned.delete(key);
  }
}

/** The number of an owner, and those of its keys. */
class Numbers {
  static #owners = new WeakMap<object, Numbers>();
  static #last = 0;
  readonly number: number = ++Numbers.#last;
  readonly keys: KeyNumbers = new KeyNumbers();

  static of(owner: object): Numbers {
    let numbers = Numbers.#owners.get(owner);
    if (numbers === undefined) Numbers.#owners.set(owner, numbers = new Numbers());
    return numbers;
  }
}

/** One thing of a list. */
interface Entry {
  /** Its position in the list. */
  readonly index: number;
  readonly remote: string;
  readonly owner: number;
  /** 0 for a thing that is not one key of many. */
  readonly key: number;
}

/** The order of one list, from the start of a call to its end. */
export class LockOrder {
  /** Positions in the list, in the order in which to acquire. */
  readonly indexes: readonly number[];
  /** How many of them are local; they come first. */
  readonly locals: number;
  readonly #places: readonly Place[];

  /**
   * @throws {TypeError} for a thing without a place, and for the same thing twice.
   */
  constructor(list: readonly unknown[]) {
    this.#places = list.map(checkPlace);
    const entries = this.#places.map(pinnedEntry).sort(compare);
    this.indexes = entries.map(({ index }) => index);
    this.locals = entries.filter(({ remote }) => remote === "").length;
    try {
      checkDistinct(entries);
    } catch (error) {
      this.unpin();
      throw error;
    }
  }

  /** Called once, when the call is over: its keys need not keep their numbers. */
  unpin(): void {
    for (const place of this.#places) if ("key" in place) Numbers.of(place.owner).keys.unpin(place.key);
  }
}

function checkPlace(thing: unknown, index: number): Place {
  const place = placeOf(thing);
  must(place !== undefined, `list[${index}]`, "be a lock, a semaphore, a side of a RwLock or a key", thing);
  return place;
}

function pinnedEntry(place: Place, index: number): Entry {
  const { number, keys } = Numbers.of(place.owner);
  return { index, remote: place.remote ?? "", owner: number, key: "key" in place ? keys.pin(place.key) : 0 };
}

/** Local things have no remote text, so they come first. */
function compare(a: Entry, b: Entry): number {
  if (a.remote !== b.remote) return a.remote < b.remote ? -1 : 1;
  return a.owner - b.owner || a.key - b.key;
}

function checkDistinct(entries: readonly Entry[]): void {
  for (let i = 1; i < entries.length; i++) {
    const [before, entry] = [entries[i - 1]!, entries[i]!];
    if (compare(before, entry) !== 0) continue;
    const [first, second] = [before.index, entry.index].sort((a, b) => a - b);
    throw new TypeError(`list[${second}] must not be the same as list[${first}]: one call cannot hold it twice`);
  }
}
