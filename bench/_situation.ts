/**
 * Situations, the things that are measured. Each is described once: `deno bench` registers it, and `deno task
 * bench:all` runs it in rounds next to its peers, on every run-time.
 */
import type * as Interlock from "../mod.ts";

/** Measures once. Its result is the figure; without a result, its duration is. */
export type Round = () => Promise<number | void>;

/** Something to measure, made anew for each round. */
export type Maker = () => Round | Promise<Round>;

/** This module, in any revision. */
export type Lib = typeof Interlock;

/** The part of a situation that the pages show; how it is measured may stand elsewhere. */
export interface Described {
  readonly name: string;
  /** The unit of a figure: nanoseconds for one of `operations`, or the unit of the rounds' results. Less is better. */
  readonly unit: "ns" | "µs" | "ms" | "bytes" | "commands" | "starts" | "×";
  /** Ours; the first one is the baseline. */
  readonly ours: Readonly<Record<string, unknown>>;
  /** The goal for our baseline. */
  readonly goals?: readonly Goal[];
}

export interface Situation extends Described {
  /** How many operations a round has; its time is divided by that. */
  readonly operations: number;
  /** How many rounds are enough, and as many to warm up, where one takes long or its figure varies little. */
  readonly rounds?: number;
  readonly ours: Readonly<Record<string, (lib: Lib) => Maker>>;
  readonly peers: Readonly<Record<string, Maker>>;
  /** The floor: no implementation can be quicker. */
  readonly floors?: Readonly<Record<string, Maker>>;
  /** Whether it belongs to the main rows, which are compared between revisions. */
  readonly main?: boolean;
}

/**
 * "peer": best peer / ours >= ratio. "floor": ours / floor <= ratio. "ours": the same next to another one of ours. "value":
 * ours <= ratio.
 */
export interface Goal {
  readonly ratio: number;
  /** The ratio on this run-time, if another one. */
  readonly bun?: number;
  readonly deno?: number;
  readonly against: "peer" | "floor" | "ours" | "value";
  /** Only these contenders count. Default: all of that kind. */
  readonly named?: readonly string[];
  /** Whether it is for the first round of a process. */
  readonly cold?: boolean;
  /** The reason for a missed goal, and the attempts to reach it. */
  readonly why?: string;
}
