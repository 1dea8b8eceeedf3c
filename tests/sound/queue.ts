import { stateOf } from "../../lib/internal/state.ts";
import type { WaitQueue } from "../../lib/internal/wait_queue.ts";
import type { Queue } from "../../lib/queue.ts";

type State = [items: { readonly slots: readonly unknown[] }, unfinished: number, joiners: WaitQueue<void>];

/** Slots of items that were taken, beyond as many as there are items. */
const SPARE = 16;

export function assertSoundQueue(queue: Queue<unknown>): void {
  const { size, capacity, getting, putting, closed } = queue;
  const [{ slots }, unfinished, joiners] = stateOf<State>(queue);
  const isSound = size <= capacity && (getting === 0 || size === 0) && (putting === 0 || size === capacity) &&
    (!closed || getting + putting === 0) && (joiners.size === 0 || unfinished > 0);
  if (!isSound) throw new Error(`unsound queue: ${size} items, ${getting} getters, ${putting} putters`);
  const isLean = slots.length <= 2 * size + SPARE && slots.filter((item) => item !== undefined).length <= size;
  if (!isLean) throw new Error(`unsound queue: ${slots.length} slots for ${size} items`);
}
