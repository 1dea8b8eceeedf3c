/**
 * The abilities of a server with a fetch-style handler; deno.ts and bun.ts say it of theirs.
 *
 * @module
 */

/** The abilities of an attached server. */
export interface Abilities {
  /** Stops listening; closes every connection if `force` is set. */
  stop(force: boolean): Promise<void> | void;
  /** Whether the server knows that nothing is in flight. */
  isQuiet?(): boolean;
  /** Whether stopping breaks uploads that are still coming in. */
  readonly breaksUploads?: boolean;
}
