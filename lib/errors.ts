/**
 * The errors of this module. Each is a fresh instance whose `name` is the name of its class and whose message reads
 * "Cannot ⟨act⟩ ⟨what⟩: ⟨state⟩". Bad arguments are the platform's TypeError and RangeError instead, and a caller's own
 * abort reason is passed on as it is.
 *
 * @module
 */

/** The base of every error of this module: one `instanceof` distinguishes them from the errors of your own code. */
export class SyncError extends Error {
  static {
    // On the prototype, so that the first line of the stack already shows it.
    this.prototype.name = "SyncError";
  }
}

/** The call's `timeout` is over. The platform's own time-outs use the same `name`. */
export class TimeoutError extends SyncError {
  static {
    this.prototype.name = "TimeoutError";
  }
}

/** A release, a wait or a notification needs a hold, and there is none. */
export class NotHeldError extends SyncError {
  static {
    this.prototype.name = "NotHeldError";
  }
}

/** The object was closed before the call. */
export class ClosedError extends SyncError {
  static {
    this.prototype.name = "ClosedError";
  }
}

/** As many calls as may wait are waiting already: `maxWaiting`. */
export class QueueFullError extends SyncError {
  static {
    this.prototype.name = "QueueFullError";
  }
}

/** The barrier was reset or aborted during the wait, or is still broken. */
export class BrokenBarrierError extends SyncError {
  static {
    this.prototype.name = "BrokenBarrierError";
  }
}

/** A remote hold can no longer be trusted: it expired, its data is gone, or there is another holder. */
export class LeaseLostError extends SyncError {
  static {
    this.prototype.name = "LeaseLostError";
  }
}
