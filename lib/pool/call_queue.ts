/**
 * The queue of a pool's calls: greater priorities first, first come, first served among equals. Calls of priority 0 are
 * in a list. Calls of other priorities are in a binary heap, which a call joins and leaves in O(log n).
 *
 * @module
 */
import { WaitQueue } from "../internal/wait_queue.ts";
import type { Call } from "./call.ts";

export class CallQueue extends WaitQueue<void, Call> {
  // heap[call.terms.index] === call. A call comes before its children, at 2 * index + 1 and 2 * index + 2.
  readonly heap: Call[] = [];
  #turns = 0;

  override peek(): Call | undefined {
    const { heap } = this;
    if (this.size === 0) return undefined; // as of a map, whose calls wait in its source
    if (heap.length === 0) return super.peek(); // most pools have no priorities
    while (heap[0]?.cancellation?.isAborted) heap[0].cancellation.abort();
    const isNext = heap.length > 0 && heap[0]!.terms!.priority > 0; // before the calls of priority 0
    return isNext ? heap[0] : super.peek() ?? heap[0];
  }

  protected override link(call: Call): void {
    const { terms } = call;
    if (!terms?.priority) return super.link(call);
    terms.turn = this.#turns++;
    call.waits = true;
    this.size++;
    this.#place(call, this.heap.length);
  }

  override unlink(call: Call): void {
    const { terms } = call;
    if (!terms?.priority) return super.unlink(call);
    const last = this.heap.pop()!;
    if (last !== call) this.#place(last, terms.index);
    call.waits = false;
    this.size--;
    call.cancellation?.onUnlinked();
  }

  /** Puts a call at a free index, after moving its parents or children there that are on the wrong side of it. */
  #place(call: Call, index: number): void {
    const { heap } = this;
    for (let parent; (parent = heap[(index - 1) >> 1]) !== undefined && isBefore(call, parent);) {
      index = this.#set(parent, index);
    }
    for (let child; (child = this.#firstChild(index)) !== undefined && isBefore(child, call);) {
      index = this.#set(child, index);
    }
    this.#set(call, index);
  }

  #firstChild(index: number): Call | undefined {
    const [left, right] = [this.heap[2 * index + 1], this.heap[2 * index + 2]];
    return right !== undefined && isBefore(right, left!) ? right : left;
  }

  /** Returns the index that the call had. */
  #set(call: Call, index: number): number {
    const terms = call.terms!;
    const { index: before } = terms;
    this.heap[index] = call;
    terms.index = index;
    return before;
  }
}

function isBefore({ terms: a }: Call, { terms: b }: Call): boolean {
  const ahead = a!.priority - b!.priority;
  return ahead > 0 || (ahead === 0 && a!.turn < b!.turn);
}
