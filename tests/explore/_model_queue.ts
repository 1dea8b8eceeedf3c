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
  /** Whether calls are refused. */
  closed = false;
  /** So many leave together when the last of them comes. */
  readonly parties: number;

  constructor(free: number, parties = Infinity) {
    this.free = free;
    this.parties = parties;
  }

  /** A call joins the queue behind all others. */
  join(call: Call): void {
    if (this.closed) {
      call.outcome = "cancelled";
      return;
    }
    this.waiting.push(call);
    if (this.waiting.length === this.parties) this.wake(this.parties);
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
    this.#leaveQueue(this.waiting.filter(matches), "cancelled");
    this.pump();
  }

  /** Grants to the first `count` calls, whether they fit or not. */
  wake(count: number): void {
    this.#leaveQueue(this.waiting.slice(0, count), "granted");
  }

  /** The holder gives a part of its weight back. */
  lighten(task: string, weight: number): void {
    const held = this.holders.find((one) => one.task === task)!;
    this.holders = this.holders.map((one) => one === held ? { ...held, weight } : one);
    this.free += held.weight - weight;
    this.pump();
  }

  pump(): void {
    while (this.waiting.length > 0 && this.waiting[0]!.weight <= this.free) {
      const call = this.waiting[0]!;
      this.free -= call.weight;
      this.holders.push(call);
      this.#leaveQueue([call], "granted");
    }
  }

  /** All of them have left before one is settled. */
  #leaveQueue(calls: readonly Call[], outcome: "granted" | "cancelled"): void {
    this.waiting = this.waiting.filter((one) => !calls.includes(one));
    for (const call of calls) {
      if (call.then === undefined) call.outcome = outcome;
      else call.then(outcome);
    }
  }
}
