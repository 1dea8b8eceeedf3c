/**
 * The dashboard's record of each thing: numbers, histograms, and the last half minute of waits and holds.
 *
 * @module
 */
import type { Resource } from "../../internal/hook.ts";
import { type Entry, isHeld, labelOf } from "../entry.ts";
import type { GiveUpEvent, GrantEvent, ReleaseEvent } from "../events.ts";
import type { Listener } from "../listeners.ts";
import { Histogram } from "./histogram.ts";

/** A wait or hold that has ended. Times in ms on the clock of `performance.now()`. */
export interface Past {
  readonly what: "wait" | "hold";
  readonly from: number;
  readonly to: number;
  readonly isGivenUp: boolean;
}

/** How many things are remembered. Those that nothing waits for or holds are forgotten first. */
const MOST_TRACKS = 1000;
/** How many waits and holds of one thing are remembered. */
const MOST_PAST = 400;
/** Shorter waits and holds are remembered at most once in that time, in ms: the drawing could not show more. */
const RESOLUTION = 100;

/** One thing, or all things of one kind, name and key. */
export class Track {
  readonly label: string;
  readonly kind: string;
  readonly waits: Set<Entry> = new Set();
  readonly holds: Set<Entry> = new Set();
  readonly waiting: Histogram = new Histogram();
  readonly holding: Histogram = new Histogram();
  grants = 0;
  giveUps = 0;
  /** All waits that have ended, in ms. */
  totalWaited = 0;
  /** The oldest first. */
  past: Past[] = [];
  /** When something short was last left out of `past`. */
  lastSkipped = -Infinity;
  readonly #lastKept = { wait: -Infinity, hold: -Infinity };

  constructor(label: string, kind: string) {
    this.label = label;
    this.kind = kind;
  }

  keep(what: Past["what"], to: number, lasted: number, isGivenUp = false): void {
    if (lasted < RESOLUTION && to - this.#lastKept[what] < RESOLUTION) {
      this.lastSkipped = to;
      return;
    }
    this.#lastKept[what] = to;
    this.past.push({ what, from: to - lasted, to, isGivenUp });
    if (this.past.length > 2 * MOST_PAST) this.past = this.past.slice(-MOST_PAST);
  }
}

export class Tracks implements Listener {
  readonly frames = true;
  readonly #byLabel = new Map<string, Track>();
  readonly #byResource = new WeakMap<Resource, Track>();
  /** The number of events. */
  events = 0;

  get all(): Iterable<Track> {
    return this.#byLabel.values();
  }

  get(label: string): Track | undefined {
    return this.#byLabel.get(label);
  }

  wait(_event: unknown, entry: Entry): void {
    this.events++;
    if (entry.state === "waits") this.#of(entry).waits.add(entry);
  }

  grant({ at, waited }: GrantEvent, entry: Entry): void {
    this.events++;
    const track = this.#of(entry);
    track.grants++;
    track.totalWaited += waited;
    track.waits.delete(entry);
    track.waiting.add(waited);
    if (entry.hasWaited || !isHeld(entry.resource.kind)) track.keep("wait", at, waited);
    if (entry.state === "holds") track.holds.add(entry);
  }

  giveUp({ at, waited }: GiveUpEvent, entry: Entry): void {
    this.events++;
    const track = this.#of(entry);
    track.giveUps++;
    track.totalWaited += waited;
    track.waits.delete(entry);
    track.waiting.add(waited);
    track.keep("wait", at, waited, true);
  }

  release({ at, held }: ReleaseEvent, entry: Entry): void {
    this.events++;
    const track = this.#of(entry);
    track.holds.delete(entry);
    track.holding.add(held);
    track.keep("hold", at, held);
  }

  #of({ resource }: Entry): Track {
    const known = this.#byResource.get(resource);
    const label = known?.label ?? labelOf(resource);
    const track = this.#byLabel.get(label) ?? new Track(label, resource.kind);
    if (track !== known) this.#byResource.set(resource, track);
    if (this.#byLabel.size > MOST_TRACKS / 2) this.#byLabel.delete(label); // from now on, the latest used is the last
    this.#byLabel.set(label, track);
    if (this.#byLabel.size > MOST_TRACKS) this.#forgetOne();
    return track;
  }

  /** Forgets an idle thing among the least used; the others move to the end, so that the next search finds more. */
  #forgetOne(): void {
    let tries = 10;
    for (const [label, track] of this.#byLabel) {
      if (tries-- === 0) return;
      this.#byLabel.delete(label);
      if (track.waits.size + track.holds.size === 0) return;
      this.#byLabel.set(label, track);
    }
  }
}
