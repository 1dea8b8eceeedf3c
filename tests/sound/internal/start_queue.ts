import type { StartQueue } from "../../../lib/internal/start_queue.ts";
import { assertSoundStartLog } from "./start_log.ts";
import { assertSoundWaitQueue } from "./wait_queue.ts";

export function assertSoundStartQueue({ logs, waits, timer, blockedUntil }: StartQueue): void {
  assertSoundWaitQueue(waits);
  for (const log of logs) assertSoundStartLog(log);
  const first = waits.head;
  const due = first === undefined
    ? Infinity
    : Math.max(blockedUntil, ...logs.map((log, i) => log.readyAt(first.starts[i]!)));
  // It may be early: a penalty leaves it alone, and starts of this turn move on.
  const isSet = first === undefined ? timer.at === Infinity : timer.at <= due;
  if (!isSet) throw new Error(`unsound rate limiter: the timer is set for ${timer.at}, not ${due}`);
}
