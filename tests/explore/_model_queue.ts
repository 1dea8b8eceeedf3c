/**
 * The model of everything that can be waited for, in a few lines: the first call of the queue is granted if it fits.
 * Nothing here is asynchronous: an outcome is decided in the step that causes it.
 */

/** The outcome that one call should have. */
export type Outcome = "waits" | "granted" | "cancelled";

/** One call that may have to wait. */
export interface Call {
  readonly task: string;
  readonly weight: number;
  /** Whether its signal or its time-out ends the wait. */
  readonly cancellable: boolean;
  /** When its time is over. */
  readonly deadline: number;
  outcome: Outcome;
  /** Whether its task goes on after the cancellation: it has something to release. */
  readonly goesOn?: boolean;
  /** Whether it was notified, where it waits to take a lock back. */
  readonly isNotified?: boolean;
  /** Called when it leaves this queue, in place of setting its outcome. */
  readonly then?: (outcome: Outcome) => void;
}

/** A free weight and a queue. A closed event has none free, an open one has it all. */
export class ModelQueue {
  free: number;
  waiting: Call[] = [];
  holders: Call[] = [];

  constructor(free: number) {
    this.free = free;
  }

  /** A call joins the end of the queue. */
  join(call: Call): void {
    this.waiting.push(call);
    this.pump();
  }

  /** A holder releases. */
  leave(task: string): void {
    const call = this.holders.find((one) => one.task === task);
    if (call === undefined) return; // a spent guard stays inert
    this.holders = this.holders.filter((one) => one !== call);
    this.free += call.weight;
    this.pump();
  }

  /** Takes the waiting call of a task out without an outcome. */
  remove(task: string): Call | undefined {
    const call = this.waiting.find((one) => one.task === task);
    this.waiting = this.waiting.filter((one) => one !== call);
    return call;
  }

  /** Cancels the waiting calls that match. */
  cancel(matches: (call: Call) => boolean): void {
    for (const call of this.waiting.filter(matches)) this.#leaveQueue(call, "cancelled");
    this.pump();
  }

  /** Grants to the first `count` calls, whether they fit or not. */
  wake(count: number): void {
    for (const call of this.waiting.slice(0, count)) this.#leaveQueue(call, "granted");
  }

  pump(): void {
    while (this.waiting.length > 0 && this.waiting[0]!.weight <= this.free) {
      const call = this.waiting[0]!;
      this.free -= call.weight;
      this.holders.push(call);
      this.#leaveQueue(call, "granted");
    }
  }

  #leaveQueue(call: Call, outcome: Outcome): void {
    this.waiting = this.waiting.filter((one) => one !== call);
    if (call.then === undefined) call.outcome = outcome;
    else call.then(outcome);
  }
}
