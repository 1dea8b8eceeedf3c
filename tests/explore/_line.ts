/**
 * What should happen: the contract of everything that is waited for, in a few lines. A line lets in whoever is first, if
 * it fits. Nothing here is asynchronous: an outcome is decided in the step that causes it.
 */

/** How one call should end. */
export type Fate = "waits" | "let in" | "gave up";

/** One call that may have to wait. */
export interface Call {
  readonly task: string;
  readonly weight: number;
  /** Whether its signal or its time-out ends the wait. */
  readonly patient: boolean;
  /** When its time is over. */
  readonly deadline: number;
  fate: Fate;
  /** Whether its task goes on after giving up: it holds what it has to give back. */
  readonly goesOn?: boolean;
  /** Where it goes once it is let out of this line; else it is simply let in. */
  readonly then?: (fate: Fate) => void;
}

/** Room for so much weight, and a line. An event is room for nothing that becomes room for everything. */
export class Line {
  room: number;
  waiting: Call[] = [];
  inside: Call[] = [];

  constructor(room: number) {
    this.room = room;
  }

  /** Somebody comes. */
  join(call: Call): void {
    this.waiting.push(call);
    this.pump();
  }

  /** Somebody leaves who was let in. */
  leave(task: string): void {
    const call = this.inside.find((one) => one.task === task);
    if (call === undefined) return; // what is spent stays inert
    this.inside = this.inside.filter((one) => one !== call);
    this.room += call.weight;
    this.pump();
  }

  /** Those give up who wait and are such. */
  giveUp(such: (call: Call) => boolean): void {
    for (const call of this.waiting.filter(such)) this.#goOut(call, "gave up");
    this.pump();
  }

  /** Lets go so many, whether there is room or not. */
  wake(count: number): void {
    for (const call of this.waiting.slice(0, count)) this.#goOut(call, "let in");
  }

  pump(): void {
    while (this.waiting.length > 0 && this.waiting[0]!.weight <= this.room) {
      const call = this.waiting[0]!;
      this.room -= call.weight;
      this.inside.push(call);
      this.#goOut(call, "let in");
    }
  }

  #goOut(call: Call, fate: Fate): void {
    this.waiting = this.waiting.filter((one) => one !== call);
    if (call.then === undefined) call.fate = fate;
    else call.then(fate);
  }
}
