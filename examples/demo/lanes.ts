/**
 * Lanes that show who waits and who holds, over time. On a terminal they move; elsewhere each change is a plain line
 * without escape codes.
 */
import process from "node:process";

/** How a task stands. */
export type State = "idle" | "waits" | "holds" | "left";

const FRAME = 40; // ms
const LABEL = 14;
const TAIL = 10; // " waits 0.2"
const LOOK: Record<State, { cell: string; colour: string }> = {
  idle: { cell: " ", colour: "" },
  waits: { cell: "░", colour: "\x1b[33m" },
  holds: { cell: "█", colour: "\x1b[32m" },
  left: { cell: "x", colour: "\x1b[31m" },
};

/** How large the terminal is. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

const ofTerminal = (): Size => ({ columns: process.stdout.columns ?? 80, rows: process.stdout.rows ?? 24 });

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
  readonly #size: () => Size;
  #lanes: Lane[] = [];
  #drawn = 0;
  #begun = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(moving: boolean, write: (text: string) => void, size: () => Size = ofTerminal) {
    this.#moving = moving;
    this.#write = write;
    this.#size = size;
  }

  /** Where lines have to end; without a terminal nowhere. */
  get columns(): number {
    return this.#moving ? this.#size().columns : Infinity;
  }

  /** Text between the pictures. On a terminal it breaks between words. */
  say(text = ""): void {
    const lines = text.split("\n").map((line) => line.length > this.columns ? fold(line, this.columns) : line);
    this.#write(`${lines.join("\n")}\n`);
  }

  /** What the pictures are made of. */
  legend(): void {
    if (!this.#moving) return;
    const sign = (state: State) => `${LOOK[state].colour}${LOOK[state].cell}\x1b[0m`;
    this.#write(`${sign("waits")} waits  ${sign("holds")} holds  ${sign("left")} gave up\n`);
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

  /** No line may be longer or more than the terminal: the cursor would not find back to the first one. */
  #draw(): void {
    const { columns, rows } = this.#size();
    for (const lane of this.#lanes) lane.frames.push(lane.state);
    const fit = this.#lanes.length < rows ? this.#lanes.length : Math.max(1, rows - 2);
    const lines = this.#lanes.slice(0, fit).map((lane) => line(lane, columns));
    if (fit < this.#lanes.length) lines.push(`\x1b[2K+ ${this.#lanes.length - fit} more`);
    this.#write((this.#drawn > 0 ? `\x1b[${this.#drawn}A` : "") + lines.join("\n") + "\n");
    this.#drawn = lines.length;
  }
}

/** A lane in exactly one line: its name, what it did lately, how it stands and for how long. */
function line(lane: Lane, columns: number): string {
  const label = Math.min(LABEL, Math.ceil(columns / 3));
  const room = Math.max(0, columns - label - TAIL - 1);
  const step = Math.max(1, Math.ceil(lane.frames.length / room)); // what has no room is thinned out, in all lanes alike
  const shown = lane.frames.filter((_, i) => i % step === 0).slice(0, room);
  const cells = shown.map((state) => LOOK[state].colour + LOOK[state].cell).join("");
  const seconds = Math.min(99, (performance.now() - lane.since) / 1000).toFixed(1);
  const tail = lane.state === "idle" ? "" : ` ${lane.state} ${seconds}`.slice(0, Math.max(0, columns - label - 1));
  return `\x1b[2K${lane.name.slice(0, label - 1).padEnd(label)}${cells}\x1b[0m${tail}`;
}

function fold(text: string, columns: number): string {
  return text.replace(new RegExp(`(.{1,${columns}})(?: +|$)`, "g"), "$1\n").trimEnd();
}
