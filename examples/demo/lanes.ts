/**
 * Lanes that show waiting and holding over time. On a terminal they move, and the finished picture takes the whole
 * width; elsewhere each change is a plain line without escape codes.
 */
import process from "node:process";

/** The state of a task. It "holds" a lock or permits; after a wait for something that cannot be held, it "works". */
export type State = "idle" | "waits" | "holds" | "works" | "open" | "timed out" | "cut" | "killed";

const FRAME = 40; // ms
const LABEL = 14;
const TAIL = 17; // " timed out 12.3 s"
const LOOK: Record<State, { cell: string; colour: string }> = {
  idle: { cell: " ", colour: "" },
  waits: { cell: "░", colour: "\x1b[33m" },
  holds: { cell: "█", colour: "\x1b[32m" },
  works: { cell: "█", colour: "\x1b[36m" },
  open: { cell: "█", colour: "\x1b[36m" },
  "timed out": { cell: "x", colour: "\x1b[31m" },
  cut: { cell: "x", colour: "\x1b[31m" },
  killed: { cell: "✕", colour: "\x1b[31m" },
};

/** The size of the terminal, in characters. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** A terminal that does not know its size reports 0. */
const ofTerminal = (): Size => ({ columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 });

/** One task's line. */
export class Lane {
  readonly name: string;
  state: State = "idle";
  /** Since when, on the monotonic clock. */
  since = performance.now();
  /** One state for each frame. */
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
    if (this.#moving) this.#draw(true);
    this.restore();
  }

  #changed(lane: Lane): void {
    if (this.#moving || lane.state === "idle") return;
    const time = ((lane.since - this.#begun) / 1000).toFixed(2).padStart(6);
    this.#write(`${time} s  ${lane.name.padEnd(LABEL)} ${lane.state}\n`);
  }

  /** No line may be longer or more than the terminal: the cursor would not find back to the first one. */
  #draw(finished = false): void {
    const { columns, rows } = this.#size();
    for (const lane of this.#lanes) lane.frames.push(lane.state);
    const room = rows - 2; // the legend, and the line of the cursor
    const fit = this.#lanes.length <= room ? this.#lanes.length : Math.max(1, room - 1);
    const lines = this.#lanes.slice(0, fit).map((lane) => line(lane, columns, finished));
    if (fit < this.#lanes.length) lines.push(`\x1b[2K+ ${this.#lanes.length - fit} more`);
    lines.push(legend(this.#lanes, (performance.now() - this.#begun) / 1000, columns));
    this.#write((this.#drawn > 0 ? `\x1b[${this.#drawn}A` : "") + lines.join("\n") + "\n");
    this.#drawn = lines.length;
  }
}

/** The signs that have been used, and the time that the picture covers. It stays below the lanes. */
function legend(lanes: readonly Lane[], seconds: number, columns: number): string {
  const used = (Object.keys(LOOK) as State[]).filter((state) =>
    state !== "idle" && lanes.some((lane) => lane.frames.includes(state))
  );
  const plain = `${used.map((state) => `${LOOK[state].cell} ${state}`).join("  ")}  0 to ${seconds.toFixed(1)} s`;
  if (plain.length > columns) return "\x1b[2K";
  const coloured = used.map((state) => `${LOOK[state].colour}${LOOK[state].cell}\x1b[0m ${state}`).join("  ");
  return `\x1b[2K${coloured}  0 to ${seconds.toFixed(1)} s`;
}

/** A lane in exactly one line: its name, its states so far, and the present one with its duration. */
function line(lane: Lane, columns: number, finished: boolean): string {
  const label = Math.min(LABEL, Math.ceil(columns / 3));
  const room = Math.max(0, columns - label - TAIL - 1);
  const shown = finished ? stretched(lane.frames, room) : thinned(lane.frames, room);
  const cells = shown.map((state) => LOOK[state].colour + LOOK[state].cell).join("");
  const seconds = Math.min(99, (performance.now() - lane.since) / 1000).toFixed(1);
  const tail = lane.state === "idle" ? "" : ` ${lane.state} ${seconds} s`.slice(0, Math.max(0, columns - label - 1));
  return `\x1b[2K${lane.name.slice(0, label - 1).padEnd(label)}${cells}\x1b[0m${tail}`;
}

/** While it moves: frames without room are left out, in all lanes alike. */
function thinned(frames: readonly State[], room: number): State[] {
  const step = Math.max(1, Math.ceil(frames.length / room));
  return frames.filter((_, i) => i % step === 0).slice(0, room);
}

/** The finished picture fills the width. */
function stretched(frames: readonly State[], room: number): State[] {
  return Array.from({ length: room }, (_, i) => frames[Math.floor((i * frames.length) / room)]!);
}

function fold(text: string, columns: number): string {
  return text.replace(new RegExp(`(.{1,${columns}})(?: +|$)`, "g"), "$1\n").trimEnd();
}
