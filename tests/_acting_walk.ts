/**
 * Random walks in which everything that is called back acts: observers, and every member of foreign signals. A walk says
 * which acts there are, and what has to hold after each of them and at the end.
 */
import { observe } from "../lib/diagnostics/mod.ts";
import { ForeignSignal } from "./_foreign_signal.ts";
import { type FakeTime, flushMicrotasks, type Random, seeded, withFakeTime } from "./_tools.ts";

/** How deep callbacks act inside of callbacks. */
const DEEPEST = 3;

/** A signal each member of which acts first, sometimes; a few refuse the listener. */
export class ActingSignal extends ForeignSignal {
  constructor(act: () => void, refuses: boolean) {
    super((member) => {
      act();
      if (refuses && member === "add") throw new Error("no more listeners");
    });
  }
}

export abstract class ActingWalk {
  readonly random: Random;
  readonly time: FakeTime;
  depth = 0;

  constructor(random: Random, time: FakeTime) {
    this.random = random;
    this.time = time;
  }

  /** Called back in the middle of something. */
  callback(): void {
    if (this.depth >= DEEPEST || this.random.below(4) > 0) return;
    this.depth++;
    try {
      this.act();
    } finally {
      this.depth--;
    }
  }

  /** From now on nothing acts any more. */
  protected calmDown(): void {
    this.depth = DEEPEST;
  }

  abstract act(): void;
  /** Throws unless everything is sound. */
  abstract check(): void;
  /** Closes and releases everything, and asserts that nothing is left. */
  abstract end(): Promise<void>;
}

export const kinds = ["signals that act", "signals and observers that act"] as const;

/** Makes so many walks of so many steps. */
export function walkActing(
  kind: typeof kinds[number],
  walks: number,
  steps: number,
  make: (random: Random, time: FakeTime) => ActingWalk,
): Promise<void> {
  return seeded(async (random) => {
    for (let i = 0; i < walks; i++) {
      await withFakeTime(async (time) => {
        const walk = make(random, time);
        const act = () => walk.callback();
        const observer = { wait: act, grant: act, giveUp: act, release: act };
        const listening = kind === "signals that act" ? undefined : observe(observer);
        try {
          for (let step = 0; step < steps; step++) {
            walk.act();
            walk.check();
            if (random.below(2) === 0) await flushMicrotasks();
            walk.check();
          }
          await walk.end();
        } finally {
          listening?.[Symbol.dispose]();
        }
      });
    }
  });
}
