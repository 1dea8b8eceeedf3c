import type { Permits } from "../../../lib/internal/permits.ts";
import { assertSoundWaitQueue } from "./wait_queue.ts";

export function assertSoundPermits({ value, most, queue }: Permits): void {
  assertSoundWaitQueue(queue);
  const first = queue.head;
  if (first !== undefined && first.permits <= value) {
    throw new Error(`unsound permits: the first waiter fits ${value}`);
  }
  if (value > most) throw new Error(`unsound permits: ${value} of ${most} are free`);
}
