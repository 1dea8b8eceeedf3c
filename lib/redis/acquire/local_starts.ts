/**
 * The starts of one limit in this process. An answer takes its time, and timers fire late: a start that is late and a next
 * one that is not would be closer together than their turns. Invariants: the starts of this process keep to the limit by
 * its own clock, too, and to the order of their turns.
 *
 * @module
 */
import { StartLog } from "../../internal/start_log.ts";
import { LocalTimer, SteadyClock } from "../clock.ts";
import { now, STARTS_KEPT } from "../times.ts";

/** More than lie between the end of a call in here and its caller. */
const MICROTASKS = 8;

/** A call that has its turn from the server. */
export interface LocalStart {
  readonly permits: number;
  /** Of its turn: the order of the calls, modulo 2^32. */
  readonly place: number;
  /** Its turn has come. */
  readonly isDue: boolean;
  /** Its turn is to come, and no timer says when: its clock is gone. */
  readonly isStuck: boolean;
  readonly settled: boolean;
  start(): void;
  /** Sets its timer. */
  awaitTurn(): void;
}

export class LocalStarts {
  readonly #log: StartLog;
  /** By turn. Those that have given up go when they are the first. */
  readonly #calls: LocalStart[] = [];
  readonly #clock = new SteadyClock();
  /** For which #timer was set last. */
  #readyAt = 0;
  readonly #timer = new LocalTimer(() => this.serve(this.#readyAt), true);

  constructor({ limit, interval }: { readonly limit: number; readonly interval: number }) {
    this.#log = new StartLog(limit, interval);
  }

  /** Whether it says little about later starts, and can go unless an object keeps it. */
  get isOver(): boolean {
    const { granted, end, interval } = this.#log;
    const kept = end - interval + Math.min(interval, STARTS_KEPT);
    return this.#calls.length + granted === 0 && kept <= this.#clock.now();
  }

  /** Milliseconds until a call can start, at the earliest. */
  waitFor(permits: number): number {
    return this.#log.readyAt(permits) - this.#clock.now();
  }

  add(call: LocalStart): void {
    this.#clock.now(); // a step back since the last call is none of the time that this one waits
    this.#wakeStuck();
    let index = this.#calls.length;
    // The answers come in the order of the turns.
    while (index > 0 && (this.#calls[index - 1]!.place - call.place | 0) > 0) index--;
    this.#calls.splice(index, 0, call);
  }

  /** Starts the first calls whose turns have come, at that time or now. */
  serve(reached?: number): void {
    for (let first = this.#calls[0]; first !== undefined; first = this.#calls[0]) {
      if (!first.settled) {
        if (!first.isDue) return this.#wakeStuck();
        const time = this.#clock.now(reached);
        if (!this.#log.tryAdd(first.permits, time)) return this.#wait(this.#log.readyAt(first.permits), time);
        if (this.#log.granted === 0) void this.#goOn();
        this.#log.grant(first.permits, time);
      }
      this.#calls.shift();
      if (!first.settled) first.start();
    }
    this.#timer.clear();
  }

  /** Where the first one is stuck, others may be: all wait for their turns side by side, from now on. */
  #wakeStuck(): void {
    if (!this.#calls[0]?.isStuck) return;
    for (const call of this.#calls) if (call.isStuck) call.awaitTurn();
  }

  #wait(readyAt: number, time: number): void {
    this.#readyAt = readyAt;
    this.#timer.set(now() + readyAt - time);
  }

  /** The callers go on a few microtasks later, and that is their start. */
  async #goOn(): Promise<void> {
    await this.#log.settled(MICROTASKS + 1); // no clock of a test takes it along
    this.#log.goOn(this.#clock.now());
  }
}
