/**
 * Objects that come and go by the thousand. In a Set they would outlive their membership: the tables that it has outgrown
 * refer to each other, and keep alive what was in them until the next full garbage collection. Invariant: the index of a
 * member is its place in the list, and -1 outside of it.
 *
 * @module
 */

/** A member of at most one list. */
export interface Member {
  /** For its list alone. Initially -1. */
  index: number;
}

export class Members<T extends Member> {
  readonly #list: T[] = [];

  get size(): number {
    return this.#list.length;
  }

  has({ index }: T): boolean {
    return index >= 0;
  }

  add(member: T): void {
    if (member.index < 0) member.index = this.#list.push(member) - 1;
  }

  /** Returns whether it was a member. */
  delete(member: T): boolean {
    const { index } = member;
    if (index < 0) return false;
    const last = this.#list.pop()!;
    if (last !== member) this.#list[last.index = index] = last;
    member.index = -1;
    return true;
  }

  /** Those of this moment, in no particular order. */
  all(): T[] {
    return [...this.#list];
  }
}
