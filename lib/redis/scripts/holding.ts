/**
 * The parts of the state machine that depend on how holders are stored: pieces of Lua, put in where they are used, as a
 * function that a script defines costs it more than a command.
 *
 * The names that the pieces share:
 *
 * | name | meaning | set by |
 * | --- | --- | --- |
 * | now, time, stamp | the server's time in µs, in its two parts, and as 16 digits | `clock`, `digits` |
 * | me | the caller's id; nil in a release once its own hold has ended | acquire, release |
 * | ttl, retention | of the caller, in ms | acquire, release |
 * | mode | how the caller can be notified, or which release it is | acquire, release |
 * | owner, weight, wanted | of the caller: its label, its weight, the limit that it expects | acquire |
 * | fence | the last token, which only grows | read, grant |
 * | used, limit | the weight in use, and the most that may be | read, grant, drop |
 * | last | the id that released last, for which a release that is sent again is true | read, drop |
 * | queued | whether there may be waiters | read, `join`, `serve` |
 * | waiting | the same before the caller joined | acquire |
 * | place | the caller's place in the queue; 0 without one | `join` |
 * | deaf | 1 if nothing listens on the caller's channel, although it has subscribed | `join` |
 * | releasing | whether the waiters are notified of the next end in any case | acquire, release |
 * | ids, known, i | the head of the queue, its records, and the first one not looked at | `serve` |
 * | messages | grants to be published once everything is written | `serve` |
 * | mine | the token of `me`, granted while serving | `serve` |
 * | code | the state of the caller's id before its release | drop, evict |
 * | dirty | whether the state is to be saved | grant, drop |
 * | more | 1 if another run has to follow, as each is bounded | expire, `serve`, evict |
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
