/**
 * The dashboard's record of each resource: counts, histograms, and the last half minute of waits and holds.
 *
 * @module
 */
import type { GiveUpEvent, GrantEvent, ObservedCall, Observer, ReleaseEvent } from "../diagnostics/mod.ts";
import { Histogram } from "./histogram.ts";

/** A wait or hold that has ended. Times in ms on the clock of `performance.now()`. */
export interface PastCall {
  readonly state: "waits" | "holds";
  readonly from: number;
  readonly to: number;
  /** Whether it was cancelled or lost. */
  readonly hasFailed: boolean;
}

/** Maximum number of tracks. Idle tracks are dropped first. */
const MOST_TRACKS = 1000;
/** Maximum number of past waits and holds of one track. */
const MOST_PAST = 400;
/** Shorter waits and holds are kept at most once in this time, in ms: the drawing could not show more. */
const RESOLUTION = 100;

/** One resource, or all resources of one kind, name and key. */
export class Track {
  readonly label: string;
  /** When its first event came. */
  readonly since: number = performance.now();
  readonly waits: Set<ObservedCall> = new Set();
  readonly holds: Set<ObservedCall> = new Set();
  readonly waiting: Histogram = new Histogram();
  readonly holding: Histogram = new Histogram();
  giveUps = 0;
  losses = 0;
  /** All waits that have ended, in ms. */
  totalWaited = 0;
  /** The waits and holds that have ended, the oldest first. */
  past: PastCall[] = [];
  /** When a short wait or hold was last left out of `past`. */
  lastSkippedAt = -Infinity;
  /** When the last one that was kept has ended. */
  readonly #lastKept = { waits: -Infinity, holds: -Infinity };

  constructor(label: string) {
    this.label = label;
  }

  /** Records the end of a wait, with or without a grant. */
  endWait(call: ObservedCall, waited: number): void {
    this.totalWaited += waited;
    this.waits.delete(call);
    this.waiting.add(waited);
  }

  /** Adds a wait or hold that has ended to `past`, unless it is too short to be drawn apart. */
  keep(state: PastCall["state"], to: number, lasted: number, hasFailed = false): void {
    if (lasted < RESOLUTION && to - this.#lastKept[state] < RESOLUTION) {
      this.lastSkippedAt = to;
      return;
    }
    this.#lastKept[state] = to;
    this.past.push({ state, from: to - lasted, to, hasFailed });
    if (this.past.length > 2 * MOST_PAST) this.past = this.past.slice(-MOST_PAST); // seldom, as it copies
  }
}

export class Tracks implements Observer {
  readonly byLabel: Map<string, Track> = new Map();
  /** The number of events since #measuredAt. */
  #events = 0;
  #measuredAt = performance.now();
  #perSecond = 0;

  /** The number of events per second, measured over at least a second. */
  get perSecond(): number {
    const now = performance.now();
    const lasted = now - this.#measuredAt;
    if (lasted >= 1000) {
      this.#perSecond = Math.round(this.#events / lasted * 1000);
      this.#events = 0;
      this.#measuredAt = now;
    }
    return this.#perSecond;
  }

  wait(_event: unknown, call: ObservedCall): void {
    const track = this.#trackOf(call);
    if (call.state === "waits") track.waits.add(call);
  }

  grant({ at, waited }: GrantEvent, call: ObservedCall): void {
    const track = this.#trackOf(call);
    track.endWait(call, waited);
    if (call.hasWaited || !call.thing.isHeld) track.keep("waits", at, waited);
    if (call.state === "holds") track.holds.add(call);
  }

  giveUp({ at, waited }: GiveUpEvent, call: ObservedCall): void {
    const track = this.#trackOf(call);
    track.giveUps++;
    track.endWait(call, waited);
    track.keep("waits", at, waited, true);
  }

  release({ at, held, outcome }: ReleaseEvent, call: ObservedCall): void {
    const track = this.#trackOf(call);
    if (outcome === "lost") track.losses++;
    track.holds.delete(call);
    track.holding.add(held);
    track.keep("holds", at, held, outcome === "lost");
  }

  /** Returns the track of a call's resource. */
  #trackOf({ thing: { label } }: ObservedCall): Track {
    this.#events++;
    const track = this.byLabel.get(label) ?? new Track(label);
    if (this.byLabel.size > MOST_TRACKS / 2) this.byLabel.delete(label); // moves it to the end, as the latest used
    this.byLabel.set(label, track);
    if (this.byLabel.size > MOST_TRACKS) this.#forgetOne();
    return track;
  }

  /**
   * Drops an idle track among the least recently used. Busy tracks move to the end, so that the next search is quick.
   */
  #forgetOne(): void {
    let tries = 10;
    for (const [label, track] of this.byLabel) {
      if (tries-- === 0) return;
      this.byLabel.delete(label);
      if (track.waits.size + track.holds.size === 0) return;
      this.byLabel.set(label, track);
    }
  }
}
