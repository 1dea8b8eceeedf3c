/**
 * The errors of this module. Each is a fresh instance whose `name` is the name of its class and whose message reads
 * "Cannot ⟨act⟩ ⟨what⟩: ⟨state⟩". Bad arguments are the platform's TypeError and RangeError instead, and a caller's own
 * abort reason is passed on as it is.
 *
 * @module
 */

/** What every error of this module extends, so that one `instanceof` tells them from the errors of your own code. */
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

/** Something was released, waited on or notified that is not held. */
export class NotHeldError extends SyncError {
  static {
    this.prototype.name = "NotHeldError";
  }
}

/** Something was used after it was closed. */
export class ClosedError extends SyncError {
  static {
    this.prototype.name = "ClosedError";
  }
}

/** The barrier was reset or aborted while somebody waited at it, or is still broken. */
export class BrokenBarrierError extends SyncError {
  static {
    this.prototype.name = "BrokenBarrierError";
  }
}

/** A remote hold can no longer be trusted: it ran out, its data is gone, or somebody else holds now. */
export class LeaseLostError extends SyncError {
  static {
    this.prototype.name = "LeaseLostError";
  }
}
