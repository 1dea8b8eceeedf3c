/**
 * A list for thousands of short-lived members. A Set would keep them alive until the next full garbage collection,
 * because its outgrown tables refer to each other. Invariant: the index of a member is its position in the list, and -1
 * outside it.
 *
 * @module
 */

/** A member of at most one list. */
export interface Member {
  /** Used only by its list. Initially -1. */
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

  /** The present members, in no particular order. */
  all(): T[] {
    return [...this.#list];
  }
}
