/** The stage of a scene: lanes, a clock to wait for, and controllers that cancel waits. */
import { TimeoutError } from "../../mod.ts";
import type { State } from "../../lib/dashboard/timeline.ts";
import { Lane } from "./lane.ts";

/** The settings of the page. Times are in milliseconds. */
export interface Settings {
  readonly tasks: number;
  /** How long a task works, more or less. */
  readonly work: number;
  /** The limit, for primitives that have one. */
  readonly limit: number;
  /** Whether every third task cancels a long wait. */
  readonly impatient: boolean;
  /** Whether all tasks start at once and work equally long, as in a program without chance. */
  readonly even?: boolean;
}

/** One run of one scene. */
export class Stage {
  readonly settings: Settings;
  readonly lanes: Lane[] = [];
  /** For each lane whose wait can be cancelled. */
  readonly controllers = new Map<Lane, AbortController>();
  readonly #start = performance.now();
  #closed = false;

  constructor(settings: Settings) {
    this.settings = settings;
  }

  now(): number {
    return performance.now() - this.#start;
  }

  /** Ends everything, for another scene: waits are cancelled, and work never ends. */
  close(): void {
    this.#closed = true;
    for (const controller of this.controllers.values()) controller.abort();
  }

  lane(label: string): Lane {
    const lane = new Lane(label, () => this.now());
    this.lanes.push(lane);
    this.controllers.set(lane, new AbortController());
    return lane;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(() => this.#closed || resolve(), ms));
  }

  /** How long task `i` works: different for each, the same every time. */
  work(i: number): number {
    const { work, even } = this.settings;
    return even ? work : work * (0.7 + 0.6 * ((i * 0.618) % 1));
  }

  /** The tasks start shortly one after another, and each plays its part. */
  async each(play: (lane: Lane, i: number) => Promise<unknown>, label = (i: number) => `task ${i + 1}`): Promise<void> {
    const lanes = Array.from({ length: this.settings.tasks }, (_, i) => this.lane(label(i)));
    await this.start((i) => play(lanes[i]!, i));
  }

  /** As `each`, for tasks that make their lanes themselves. */
  async start(play: (i: number) => Promise<unknown>): Promise<void> {
    const { tasks, work, even } = this.settings;
    await Promise.all(Array.from({ length: tasks }, async (_, i) => {
      if (!even) await this.sleep(i * Math.min(90, work / 5));
      await play(i);
    }));
  }

  /** The common part of scenes: `lane` waits by `wait` and then works inside of it. */
  async part<T>(
    lane: Lane,
    i: number,
    wait: (signal: AbortSignal, inside: () => Promise<void>) => Promise<T>,
    state: State = "holds",
  ) {
    const controller = this.controllers.get(lane)!;
    const impatience = setTimeout(
      () => this.settings.impatient && i % 3 === 2 && controller.abort(),
      this.settings.work,
    );
    lane.enter("waits");
    try {
      await wait(controller.signal, async () => {
        clearTimeout(impatience);
        lane.enter(state);
        await this.sleep(this.work(i));
      });
      lane.rest();
      lane.mark("✓");
    } catch (error) {
      lane.rest();
      lane.mark("✕", error instanceof TimeoutError ? "TimeoutError" : (error as Error).name);
    } finally {
      clearTimeout(impatience);
      this.controllers.delete(lane);
    }
  }
}
