/**
 * One use of a slot: what a call asks for, and the signal of its function.
 *
 * @module
 */
import type { CancelWatch } from "../internal/cancellation.ts";
import { checkNumber, must, readWaitOptions, type WaitLimits } from "../internal/check.ts";
import type { Starts } from "../internal/budgets.ts";
import type { StartQueue } from "../internal/start_queue.ts";
import { Waiter } from "../internal/wait_queue.ts";
import type { WaitedFor } from "../internal/waited_for.ts";
import type { TaskOptions } from "./types.ts";

/** The options of a call as read, and its place in the heap of {@linkcode CallQueue}. */
export interface CallOptions extends WaitLimits {
  readonly priority: number;
  /** Its number in the order in which calls joined the heap. */
  turn: number;
  /** Its index in the heap. Like `turn`, unused for priority 0. */
  index: number;
  /** The starts that it takes in a pool with a rate. Default: one of each budget. */
  readonly starts?: Starts | undefined;
}

/** One use of a slot, from its wait to its end. It has few fields, as many calls may be queued. */
export class Call extends Waiter<void> {
  /** Undefined for a call without options. */
  readonly options: CallOptions | undefined;
  /** Set while its function runs, if that has a signal of its own, to which `watch` passes on the caller's. */
  own: { readonly controller: AbortController; readonly watch: CancelWatch | undefined } | undefined;

  constructor(target: WaitedFor, options: CallOptions | undefined) {
    super(target);
    this.options = options;
  }
}

/** Reads the options of a call of `run` or `createTask`. */
export function readCall(target: WaitedFor, options: TaskOptions, rate: StartQueue | undefined): Call {
  const { signal, timeout = Infinity } = readWaitOptions(options) ?? {};
  const [priority, starts] = [readPriority(options), readStarts(rate, options)];
  return new Call(target, { signal, timeout, priority, starts, turn: 0, index: 0 });
}

/** Reads the option of a call or a map. */
export function readPriority({ priority = 0 }: Pick<TaskOptions, "priority">): number {
  checkNumber(priority, "priority");
  must(Number.isFinite(priority), "priority", "be a finite number", priority, RangeError);
  return priority;
}

function readStarts(rate: StartQueue | undefined, { permits }: TaskOptions): Starts | undefined {
  if (rate !== undefined) return rate.readStarts(permits);
  must(permits === undefined, "permits", "be left out in a pool without a rate", permits);
  return undefined;
}
