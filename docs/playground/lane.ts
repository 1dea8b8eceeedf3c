/** The record of one task: its waits and holds. */
import type { Mark, Row, Span, State } from "../../lib/dashboard/timeline.ts";

/** One task. */
export class Lane implements Row {
  readonly spans: Span[] = [];
  readonly marks: Mark[] = [];
  readonly label: string;
  readonly #now: () => number;

  constructor(label: string, now: () => number) {
    this.label = label;
    this.#now = now;
  }

  /** The present state, if there is one. */
  get state(): State | undefined {
    const last = this.spans.at(-1);
    return last?.to === undefined ? last?.state : undefined;
  }

  /** From now on it does this. */
  enter(state: State): void {
    this.rest();
    this.spans.push({ state, from: this.#now() });
  }

  /** From now on it does nothing. */
  rest(): void {
    const last = this.spans.at(-1);
    if (last !== undefined) last.to ??= this.#now();
  }

  mark(sign: Mark["sign"], text = ""): void {
    this.marks.push({ sign, at: this.#now(), text });
  }
}
