import type { StartQueue } from "../../../lib/internal/start_queue.ts";
import { WindowLog } from "../../../lib/internal/start_log.ts";
import type { TokenBucket } from "../../../lib/internal/token_bucket.ts";
import { assertSoundWindowLog } from "./start_log.ts";
import { assertSoundTokenBucket } from "./token_bucket.ts";
import { assertSoundWaitQueue } from "./wait_queue.ts";

export function assertSoundStartQueue({ logs, waiters, due: set, blockedUntil }: StartQueue): void {
  assertSoundWaitQueue(waiters);
  for (const log of logs) {
    if (log instanceof WindowLog) assertSoundWindowLog(log);
    else assertSoundTokenBucket(log as TokenBucket);
  }
  const first = waiters.head;
  const due = first === undefined
    ? Infinity
    : Math.max(blockedUntil, ...logs.map((log, i) => log.readyAt(first.starts[i]!)));
  // It may be early: a penalty leaves it alone, and starts of this turn move on.
  const isSet = first === undefined ? set === Infinity : set <= due;
  if (!isSet) throw new Error(`unsound rate limiter: the timer is set for ${set}, not ${due}`);
}
