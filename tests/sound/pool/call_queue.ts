import { waitersOf } from "../../../lib/internal/wait_queue.ts";
import { PriorityCall } from "../../../lib/pool/call.ts";
import type { CallQueue } from "../../../lib/pool/call_queue.ts";

export function assertSoundCallQueue(queue: CallQueue): void {
  const { heap, size } = queue;
  const isHeap = heap.every((call, i) => {
    const parent = heap[(i - 1) >> 1];
    return call.waits && call.index === i && (parent === undefined || isBefore(parent, call));
  });
  const isList = waitersOf(queue).every((call) => call.waits && !(call instanceof PriorityCall));
  const isWhole = waitersOf(queue).length + heap.length === size;
  if (!isHeap || !isList || !isWhole) throw new Error(`unsound queue of ${size} calls, ${heap.length} in the heap`);
}

function isBefore(a: PriorityCall, b: PriorityCall): boolean {
  const ahead = a.terms!.priority - b.terms!.priority;
  return ahead > 0 || (ahead === 0 && a.turn < b.turn);
}
