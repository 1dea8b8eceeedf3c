/**
 * The work in flight, which the drain waits for. It is a list through its entries: a Set would cost a small request 4 % of
 * its time (`deno task bench:shutdown`).
 *
 * @module
 */
import { Event } from "../event.ts";

/** A piece of work. */
export abstract class InFlight {
  /** Its name in the report if it has to be cut. */
  abstract label: string;
  // Written by WorkInFlight alone. isListed === false implies previous === next === undefined.
  isListed = false;
  previous: InFlight | undefined = undefined;
  next: InFlight | undefined = undefined;

  /** Notifies it that shutdown was requested. */
  onShutdown?(): void;
  /** Ends it, because the shutdown is forced. */
  cut?(): void;
}

/** A piece of work that needs no class of its own. */
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

/** All of it, oldest first. */
export class WorkInFlight implements Iterable<InFlight> {
  // From #oldest to #newest by `next` there are #size entries, and they are those with isListed.
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

  /** Returns whether it was in flight. */
  delete(entry: InFlight): boolean {
    if (!entry.isListed) return false;
    const { previous, next } = entry;
    if (previous === undefined) this.#oldest = next;
    else previous.next = next;
    if (next === undefined) this.#newest = previous;
    else next.previous = previous;
    entry.isListed = false;
    entry.previous = entry.next = undefined;
    if (--this.#size === 0) this.#notify();
    return true;
  }

  *[Symbol.iterator](): Iterator<InFlight> {
    for (let entry = this.#oldest; entry !== undefined; entry = entry.next) yield entry;
  }

  /** Resolves when there is none, and rejects when `signal` aborts. */
  async empty(signal: AbortSignal): Promise<void> {
    while (this.#size > 0) await (this.#emptied ??= new Event()).wait({ signal });
  }

  #notify(): void {
    this.#emptied?.set();
    this.#emptied = undefined;
  }
}

/** Whether the list has as many entries as it says, linked in both directions; for tests. */
export function isSound(work: WorkInFlight): boolean {
  const entries = [...work];
  const isLinked = (entry: InFlight, i: number) =>
    entry.isListed && entry.previous === entries[i - 1] && entry.next === entries[i + 1];
  return entries.length === work.size && entries.every(isLinked);
}
