/** A signal of another library: each of its members acts first, sometimes, and a few refuse the listener. */
export class ActingSignal {
  readonly #act: () => void;
  readonly #refuses: boolean;
  readonly #listeners = new Set<EventListenerObject>();
  #aborted = false;

  constructor(act: () => void, refuses: boolean) {
    this.#act = act;
    this.#refuses = refuses;
  }

  get aborted(): boolean {
    this.#act();
    return this.#aborted;
  }

  get reason(): unknown {
    this.#act();
    return "aborted";
  }

  addEventListener(_: string, listener: EventListenerObject): void {
    if (!this.#refuses) this.#listeners.add(listener);
    this.#act();
    if (this.#refuses) throw new Error("no more listeners");
  }

  removeEventListener(_: string, listener: EventListenerObject): void {
    this.#listeners.delete(listener);
    this.#act();
  }

  /** Sometimes the listeners hear of it later, or never. */
  abort(notifies: boolean): void {
    this.#aborted = true;
    if (notifies) { for (const listener of [...this.#listeners]) listener.handleEvent(new globalThis.Event("abort")); }
  }
}
