/** A signal of another library: it may be aborted before it has notified its listeners. */
export class ForeignSignal {
  readonly listeners = new Set<() => void>();
  readonly reason = "the reason";
  aborted = false;

  addEventListener(_: string, listener: () => void): void {
    this.listeners.add(listener);
  }

  removeEventListener(_: string, listener: () => void): void {
    this.listeners.delete(listener);
  }

  /** Aborts, with or without notifying the listeners. */
  abort(notifies = true): void {
    this.aborted = true;
    if (notifies) { for (const listener of [...this.listeners]) listener(); }
  }
}
