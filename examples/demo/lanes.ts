/**
 * Lanes that show who waits and who holds, over time. On a terminal they move; elsewhere each change is a plain line
 * without escape codes.
 */
import process from "node:process";

/** How a task stands. */
export type State = "idle" | "waits" | "holds" | "left";

const FRAME = 40; // ms
const LABEL = 14;
const LOOK: Record<State, { cell: string; colour: string }> = {
  idle: { cell: " ", colour: "" },
  waits: { cell: "░", colour: "\x1b[33m" },
  holds: { cell: "█", colour: "\x1b[32m" },
  left: { cell: "x", colour: "\x1b[31m" },
};

/** One task's line. */
export class Lane {
  readonly name: string;
  state: State = "idle";
  /** Since when, on the monotonic clock. */
  since = performance.now();
  /** What is drawn: one state a frame. */
  readonly frames: State[] = [];
  readonly #onChange: (lane: Lane) => void;

  constructor(name: string, onChange: (lane: Lane) => void) {
    this.name = name;
    this.#onChange = onChange;
  }

  is(state: State): void {
    this.state = state;
    this.since = performance.now();
    this.#onChange(this);
  }
}

/** Where the demo appears. Lanes belong to one picture, which is begun and ended. */
export class Stage {
  readonly #moving: boolean;
  readonly #write: (text: string) => void;
  #lanes: Lane[] = [];
  #drawn = 0;
  #begun = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(moving: boolean, write: (text: string) => void) {
    this.#moving = moving;
    this.#write = write;
  }

  /** Text between the pictures. */
  say(text = ""): void {
    this.#write(`${text}\n`);
  }

  heading(text: string): void {
    this.say(this.#moving ? `\n\x1b[1m${text}\x1b[0m` : `\n${text}`);
  }

  /** Calls `fn` while lanes are shown for these tasks. */
  async picture<T>(names: readonly string[], fn: (lanes: Lane[]) => Promise<T>): Promise<T> {
    this.#begun = performance.now();
    this.#drawn = 0;
    this.#lanes = names.map((name) => new Lane(name, (lane) => this.#changed(lane)));
    if (this.#moving) {
      this.#write("\x1b[?25l");
      this.#draw();
      this.#timer = setInterval(() => this.#draw(), FRAME);
    }
    try {
      return await fn(this.#lanes);
    } finally {
      this.#end();
    }
  }

  /** Gives the terminal back as it was. */
  restore(): void {
    clearInterval(this.#timer);
    if (this.#moving) this.#write("\x1b[?25h");
  }

  #end(): void {
    if (this.#moving) this.#draw();
    this.restore();
  }

  #changed(lane: Lane): void {
    if (this.#moving || lane.state === "idle") return;
    const time = ((lane.since - this.#begun) / 1000).toFixed(2).padStart(6);
    this.#write(`${time} s  ${lane.name.padEnd(LABEL)} ${lane.state}\n`);
  }

  #draw(): void {
    const room = Math.max(10, (process.stdout.columns ?? 80) - LABEL - 12);
    const lines = this.#lanes.map((lane) => {
      lane.frames.push(lane.state);
      const cells = lane.frames.slice(-room).map((state) => LOOK[state].colour + LOOK[state].cell).join("");
      const seconds = ((performance.now() - lane.since) / 1000).toFixed(1);
      const tail = lane.state === "idle" ? "" : `${lane.state} ${seconds}`;
      return `\x1b[2K${lane.name.slice(0, LABEL).padEnd(LABEL)}${cells}\x1b[0m ${tail}`;
    });
    this.#write((this.#drawn > 0 ? `\x1b[${this.#drawn}A` : "") + lines.join("\n") + "\n");
    this.#drawn = lines.length;
  }
}
