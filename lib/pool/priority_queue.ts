/**
 * The queue of calls that have a priority, as a binary heap: greater priorities first, first come, first served among
 * equals. A call joins and leaves in O(log n).
 *
 * @module
 */
import { WaitQueue } from "../internal/wait_queue.ts";
import type { PriorityCall } from "./call.ts";

export class PriorityQueue extends WaitQueue<void, PriorityCall> {
  // heap[call.index] === call. A call comes before its children, at 2 * index + 1 and 2 * index + 2.
  readonly heap: PriorityCall[] = [];
  #turns = 0;

  protected override link(call: PriorityCall): void {
    call.turn = this.#turns++;
    call.waits = true;
    this.size++;
    this.#place(call, this.heap.length);
    this.head = this.heap[0];
  }

  override unlink(call: PriorityCall): void {
    const last = this.heap.pop()!;
    if (last !== call) this.#place(last, call.index);
    this.head = this.heap[0];
    call.waits = false;
    this.size--;
    call.cancellation?.onUnlinked();
  }

  /** Puts a call at a free index, after moving its parents or children there that are on the wrong side of it. */
  #place(call: PriorityCall, index: number): void {
    const { heap } = this;
    for (let parent; (parent = heap[(index - 1) >> 1]) !== undefined && isBefore(call, parent);) {
      index = this.#set(parent, index);
    }
    for (let child; (child = this.#firstChild(index)) !== undefined && isBefore(child, call);) {
      index = this.#set(child, index);
    }
    this.#set(call, index);
  }

  #firstChild(index: number): PriorityCall | undefined {
    const [left, right] = [this.heap[2 * index + 1], this.heap[2 * index + 2]];
    return right !== undefined && isBefore(right, left!) ? right : left;
  }

  /** Returns the index that the call had. */
  #set(call: PriorityCall, index: number): number {
    const { index: before } = call;
    this.heap[index] = call;
    call.index = index;
    return before;
  }
}

function isBefore(a: PriorityCall, b: PriorityCall): boolean {
  return a.priority > b.priority || (a.priority === b.priority && a.turn < b.turn);
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundPriorityQueue({ heap, size, head }: PriorityQueue): void {
  const isHeap = heap.every((call, i) => {
    const parent = heap[(i - 1) >> 1];
    return call.waits && call.index === i && (parent === undefined || isBefore(parent, call));
  });
  if (!isHeap || heap.length !== size || heap[0] !== head) throw new Error(`unsound heap of ${size} calls`);
}
