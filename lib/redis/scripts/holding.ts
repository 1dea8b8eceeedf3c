/**
 * The parts of the state machine that depend on how holders are stored: pieces of Lua, put in where they are used, as a
 * function that a script defines costs it more than a command.
 *
 * They share these variables: fence (the last one), used (weight in use), limit, last (the id that released last),
 * queued (there may be waiters), dirty (to be saved), more (another run has to follow).
 *
 * @module
 */
export interface Holding {
  /** Reads the state; returns at once where there is nothing else to look at. */
  readonly readToAcquire: string;
  readonly readToRelease: string;
  /** Returns, with a longer lease, if `me` is a holder. */
  readonly prolong: string;
  /** Removes holders whose time is over, a bounded number. */
  readonly expire: string;
  /** An expression: the end of the lease that ends first. */
  readonly nextEnd: string;
  /** Notes that there are waiters. */
  readonly mark: string;
  /** Makes an id a holder; the arguments are expressions. */
  readonly grant: (id: string, ms: string, weight: string, owner: string) => string;
  /** Writes the state; a release also under maxmemory. */
  readonly save: (releasing?: boolean) => string;
  /** Sets `code` if `me` is a holder. */
  readonly drop: string;
  /** Ends all holds, a bounded number. Sets `code`, and `more` if there are others. */
  readonly evict: string;
}
