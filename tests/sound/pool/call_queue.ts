import { waitersOf } from "../../../lib/internal/wait_queue.ts";
import type { Call } from "../../../lib/pool/call.ts";
import type { CallQueue } from "../../../lib/pool/call_queue.ts";

export function assertSoundCallQueue(queue: CallQueue): void {
  const { heap, size } = queue;
  const isHeap = heap.every((call, i) => {
    const parent = heap[(i - 1) >> 1];
    return call.queued && call.options!.index === i && (parent === undefined || isBefore(parent, call));
  });
  const isList = waitersOf(queue).every((call) => call.queued && !call.options?.priority);
  const isWhole = waitersOf(queue).length + heap.length === size;
  if (!isHeap || !isList || !isWhole) throw new Error(`unsound queue of ${size} calls, ${heap.length} in the heap`);
}

function isBefore({ options: a }: Call, { options: b }: Call): boolean {
  const ahead = a!.priority - b!.priority;
  return ahead > 0 || (ahead === 0 && a!.turn < b!.turn);
}
