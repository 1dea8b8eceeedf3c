/**
 * The queue of a pool's calls: greater priorities first, first come, first served among equals. Calls of priority 0 are
 * in a list. Calls of other priorities are in a binary heap, which a call joins and leaves in O(log n).
 *
 * @module
 */
import { WaitQueue } from "../internal/wait_queue.ts";
import type { Call } from "./call.ts";

export class CallQueue extends WaitQueue<void, Call> {
  // heap[call.options.index] === call. A call comes before its children, at 2 * index + 1 and 2 * index + 2.
  readonly heap: Call[] = [];
  /** The turn of the next call that joins the heap. */
  #nextTurn = 0;

  override peek(): Call | undefined {
    const { heap } = this;
    if (this.size === 0) return undefined; // as of a map, whose calls wait in its source
    if (heap.length === 0) return super.peek(); // most pools have no priorities
    while (heap[0]?.cancellation?.isAborted) heap[0].cancellation.abort();
    const isAboveZero = heap.length > 0 && heap[0]!.options!.priority > 0; // then it comes before the list
    return isAboveZero ? heap[0] : super.peek() ?? heap[0];
  }

  protected override link(call: Call): void {
    const { options } = call;
    if (!options?.priority) return super.link(call);
    options.turn = this.#nextTurn++;
    call.queued = true;
    this.size++;
    this.#place(call, this.heap.length);
  }

  override unlink(call: Call): void {
    const { options } = call;
    if (!options?.priority) return super.unlink(call);
    const last = this.heap.pop()!;
    if (last !== call) this.#place(last, options.index);
    call.queued = false;
    this.size--;
    call.cancellation?.detach();
  }

  /** Puts a call at a free index, after moving its parents or children there that are on the wrong side of it. */
  #place(call: Call, index: number): void {
    const { heap } = this;
    for (let parent; (parent = heap[(index - 1) >> 1]) !== undefined && isBefore(call, parent);) {
      index = this.#moveTo(parent, index);
    }
    for (let child; (child = this.#firstChild(index)) !== undefined && isBefore(child, call);) {
      index = this.#moveTo(child, index);
    }
    this.#moveTo(call, index);
  }

  /** Returns the child that comes first; undefined if there is none. */
  #firstChild(index: number): Call | undefined {
    const [left, right] = [this.heap[2 * index + 1], this.heap[2 * index + 2]];
    return right !== undefined && isBefore(right, left!) ? right : left;
  }

  /** Puts a call at an index, and returns the index that it had before. */
  #moveTo(call: Call, index: number): number {
    const options = call.options!;
    const { index: freed } = options;
    this.heap[index] = call;
    options.index = index;
    return freed;
  }
}

function isBefore({ options: a }: Call, { options: b }: Call): boolean {
  const difference = a!.priority - b!.priority;
  return difference > 0 || (difference === 0 && a!.turn < b!.turn);
}
