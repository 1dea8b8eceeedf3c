/**
 * Concurrency primitives for one process.
 *
 * @module
 */
export type { Acquirable, Guard, WaitOptions } from "./lib/types.ts";
export {
  BrokenBarrierError,
  ClosedError,
  LeaseLostError,
  NotHeldError,
  SyncError,
  TimeoutError,
} from "./lib/errors.ts";
