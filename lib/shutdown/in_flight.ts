/**
 * The work in flight, for which the drain waits. It is a linked list: a Set would cost a small request 4 % of its time
 * (`bench/shutdown.ts`).
 *
 * @module
 */
import { Event } from "../event.ts";

/** A piece of work. */
export abstract class InFlight {
  /** Its name in the report if it has to be cut. */
  abstract label: string;
  // Written only by WorkInFlight. isListed === false implies previous === next === undefined.
  isListed = false;
  previous: InFlight | undefined = undefined;
  next: InFlight | undefined = undefined;

  /** Called when shutdown is requested. */
  onShutdown?(): void;
  /** Ends the work because the shutdown is forced. */
  cut?(): void;
}

/** A piece of work without a class of its own. */
export class Task extends InFlight {
  readonly label: string;

  constructor(label: string, cut?: () => void, onShutdown?: () => void) {
    super();
    this.label = label;
    if (cut !== undefined) this.cut = cut;
    if (onShutdown !== undefined) this.onShutdown = onShutdown;
  }
}

/** The label of a request: the caller's own, or method and path. */
export function requestLabel<R extends { readonly method?: string | undefined; readonly url?: string | undefined }>(
  request: R,
  own?: (request: R) => string,
): string {
  try {
    const label = own?.(request);
    if (typeof label === "string") return label;
  } catch { /* a label that throws must not fail the request */ }
  const { method = "?", url = "?" } = request;
  return `${method} ${url.replace(/^[a-z][a-z+.-]*:\/\/[^/]*/i, "").replace(/[?#].*$/, "") || "/"}`;
}

/** All work in flight, oldest first. */
export class WorkInFlight implements Iterable<InFlight> {
  // The list from #oldest to #newest by `next` has #size entries: exactly the entries with isListed.
  #oldest: InFlight | undefined = undefined;
  #newest: InFlight | undefined = undefined;
  #size = 0;
  /** Set and dropped when the last entry is deleted. */
  #emptied: Event | undefined = undefined;

  get size(): number {
    return this.#size;
  }

  add(entry: InFlight): void {
    const previous = this.#newest;
    entry.isListed = true;
    entry.previous = previous;
    if (previous === undefined) this.#oldest = entry;
    else previous.next = entry;
    this.#newest = entry;
    this.#size++;
  }

  /** Has no effect on an entry that is not in flight. */
  delete(entry: InFlight): void {
    if (!entry.isListed) return;
    const { previous, next } = entry;
    if (previous === undefined) this.#oldest = next;
    else previous.next = next;
    if (next === undefined) this.#newest = previous;
    else next.previous = previous;
    entry.isListed = false;
    entry.previous = entry.next = undefined;
    if (--this.#size === 0) this.#notify();
  }

  *[Symbol.iterator](): Iterator<InFlight> {
    for (let entry = this.#oldest; entry !== undefined; entry = entry.next) yield entry;
  }

  /** Resolves when no work is left, and rejects when `signal` aborts. */
  async empty(signal: AbortSignal): Promise<void> {
    while (this.#size > 0) await (this.#emptied ??= new Event()).wait({ signal });
  }

  #notify(): void {
    this.#emptied?.set();
    this.#emptied = undefined;
  }
}

/** Whether the list has #size entries, linked in both directions; for tests. */
export function isSound(work: WorkInFlight): boolean {
  const entries = [...work];
  const isLinked = (entry: InFlight, i: number) =>
    entry.isListed && entry.previous === entries[i - 1] && entry.next === entries[i + 1];
  return entries.length === work.size && entries.every(isLinked);
}
