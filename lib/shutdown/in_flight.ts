/**
 * The work in flight, for which the drain waits. It is a linked ring: a Set would cost a small request 4 % of its time
 * (`bench/shutdown.ts`).
 *
 * @module
 */
/** A piece of work. */
export class InFlight {
  #label: string | undefined;
  // Written only by WorkInFlight. Both are set while it is in flight.
  previous: InFlight | undefined;
  next: InFlight | undefined;

  constructor(label?: string) {
    this.#label = label;
  }

  /** Its name in the report if it has to be cut. */
  get label(): string {
    return this.#label ??= this.defaultLabel();
  }

  set label(label: string) {
    this.#label = label;
  }

  /** Its name without a label. Computed on demand: reading a request costs more than counting it. */
  defaultLabel(): string {
    return "task";
  }

  get isListed(): boolean {
    return this.next !== undefined;
  }

  /** The number of calls that it stands for. */
  get count(): number {
    return 1;
  }

  /** Whether it is over, if nothing reports its end. */
  isOver?(): boolean;
  /** Called when shutdown is requested. */
  onShutdown?(): void;
  /** Ends the work because the shutdown is forced. */
  cut?(): void;
}

/** The user's function that names a request, if there is one. */
export type Labeler<R> = ((request: R) => string) | undefined;

/** The label of a request: by the user's function, or method and path. */
export function requestLabel<R extends { readonly method?: string | undefined; readonly url?: string | undefined }>(
  request: R,
  labeler?: Labeler<R>,
): string {
  try {
    const label = labeler?.(request);
    if (typeof label === "string") return label;
  } catch { /* a label that throws must not fail the request */ }
  const { method = "?", url = "?" } = request;
  return `${method} ${url.replace(/^[a-z][a-z+.-]*:\/\/[^/]*/i, "").replace(/[?#].*$/, "") || "/"}`;
}

/** All work in flight, oldest first. */
export class WorkInFlight implements Iterable<InFlight> {
  // The ring from #head by `next` has #size entries besides: exactly the entries with isListed.
  readonly #head: InFlight = new InFlight("the head of the ring");
  #size = 0;
  /** The size at which `add` sweeps. It bounds the entries that are over to half of the list. */
  #sweepAt = 64;
  /** The number of calls of sweepSome() since the last sweep. */
  #sweepCalls = 0;
  /** Called when the last entry is deleted. */
  #onEmpty = (): void => {};

  constructor() {
    this.#head.previous = this.#head.next = this.#head;
  }

  get size(): number {
    return this.#size;
  }

  add(entry: InFlight): void {
    const head = this.#head;
    const last = head.previous!;
    entry.previous = last;
    entry.next = head;
    last.next = head.previous = entry;
    if (++this.#size >= this.#sweepAt) this.sweep();
  }

  /** Has no effect on an entry that is not in flight. */
  delete(entry: InFlight): void {
    const { previous, next } = entry;
    if (next === undefined) return;
    previous!.next = next;
    next.previous = previous;
    entry.previous = entry.next = undefined;
    if (--this.#size === 0) this.#onEmpty();
  }

  /** Deletes the entries that are over. To be called before the work in flight is counted or listed. */
  sweep(): void {
    for (const entry of [...this]) if (entry.isOver?.()) this.delete(entry);
    this.#sweepAt = 2 * this.#size + 64;
    this.#sweepCalls = 0;
  }

  /** Sweeps at each call while there are few entries, and otherwise so seldom that a call costs 64 entries. */
  sweepSome(): void {
    if (++this.#sweepCalls * 64 >= this.#size) this.sweep();
  }

  *[Symbol.iterator](): Iterator<InFlight> {
    for (let entry = this.#head.next!; entry !== this.#head; entry = entry.next!) yield entry;
  }

  /** Resolves when no work is left. For one caller, the drain. */
  async untilEmpty(): Promise<void> {
    while (this.#size > 0) await new Promise<void>((resolve) => this.#onEmpty = resolve);
  }
}
