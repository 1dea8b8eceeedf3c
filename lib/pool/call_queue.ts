/**
 * The queue of a pool's calls: greater priorities first, first come, first served among equals. Calls of priority 0 are
 * in a list. Calls of other priorities are in a binary heap, which a call joins and leaves in O(log n).
 *
 * @module
 */
import { WaitQueue } from "../internal/wait_queue.ts";
import { type Call, PriorityCall } from "./call.ts";

export class CallQueue extends WaitQueue<void, Call> {
  // heap[call.index] === call. A call comes before its children, at 2 * index + 1 and 2 * index + 2.
  readonly heap: PriorityCall[] = [];
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
    if (!(call instanceof PriorityCall)) return super.link(call);
    call.turn = this.#turns++;
    call.waits = true;
    this.size++;
    this.#place(call, this.heap.length);
  }

  override unlink(call: Call): void {
    if (!(call instanceof PriorityCall)) return super.unlink(call);
    const last = this.heap.pop()!;
    if (last !== call) this.#place(last, call.index);
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
  const ahead = a.terms!.priority - b.terms!.priority;
  return ahead > 0 || (ahead === 0 && a.turn < b.turn);
}
