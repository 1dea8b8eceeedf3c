/**
 * What is measured. A situation is described once: `deno bench` registers it, and `deno task bench:all` runs it in
 * rounds next to its peers, on every run-time.
 */
import type * as Interlock from "../mod.ts";

/** Measures once. What it returns is the figure; if that is nothing, the time that it took is. */
export type Round = () => Promise<number | void>;

/** Something to measure, made anew for each round. */
export type Maker = () => Round | Promise<Round>;

/** This module, of whatever revision. */
export type Lib = typeof Interlock;

export interface Situation {
  readonly name: string;
  /** What a figure is: nanoseconds for one of `operations`, or what the rounds return. Less is better. */
  readonly unit: "ns" | "µs" | "ms" | "bytes" | "commands";
  /** How many operations a round has; its time is divided by that. */
  readonly operations: number;
  /** Ours; the first one is the baseline. */
  readonly ours: Readonly<Record<string, (lib: Lib) => Maker>>;
  readonly peers: Readonly<Record<string, Maker>>;
  /** What no implementation can be quicker than. */
  readonly floors?: Readonly<Record<string, Maker>>;
  /** How our baseline has to stand. */
  readonly goals?: readonly Goal[];
  /** Whether it belongs to the main rows, which are compared between revisions. */
  readonly main?: boolean;
}

export interface Goal {
  readonly ratio: number;
  /** "peer": best peer / ours >= ratio. "floor": ours / floor <= ratio. "value": ours <= ratio. Only the named peers count. */
  readonly against: "peer" | "floor" | "value";
  readonly named?: readonly string[];
  /** What stands in the way where it is missed, and what was tried. */
  readonly why?: string;
}
