/** A signal of another library, which runs code of the user wherever it is asked for anything. */

/** A member of a signal, as it is asked for: `add` and `remove` are those of listeners. */
export type SignalMember = "aborted" | "reason" | "add" | "remove";

export class ForeignSignal {
  readonly listeners = new Set<() => void>();
  readonly #act: (member: SignalMember) => void;
  #aborted = false;

  /** @param act Called at each question. Its errors are thrown to the caller. */
  constructor(act: (member: SignalMember) => void) {
    this.#act = act;
  }

  get aborted(): boolean {
    this.#act("aborted");
    return this.#aborted;
  }

  get reason(): unknown {
    this.#act("reason");
    return "the reason";
  }

  addEventListener(_: string, listener: () => void): void {
    this.listeners.add(listener);
    this.#act("add");
  }

  removeEventListener(_: string, listener: () => void): void {
    this.listeners.delete(listener);
    this.#act("remove");
  }

  /** Aborts, with or without notifying the listeners. */
  abort(notifies = true): void {
    this.#aborted = true;
    if (notifies) { for (const listener of [...this.listeners]) listener(); }
  }
}
