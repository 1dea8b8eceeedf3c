/**
 * The pieces of Lua that all scripts share. Each run creates a script's functions anew, which takes longer than a short
 * command, so most pieces are text that is inserted where it is used. Invariants: only the server's clock counts; every
 * key has a time to live; every write comes before the first message about a grant. Times are microseconds inside the
 * server and milliseconds in arguments. Literal numbers are passed to commands as text, which takes less time.
 *
 * @module
 */

import { IDLE_KEPT } from "../times.ts";

/** A script and its digest. */
export interface Script {
  readonly source: string;
  /** Hexadecimal SHA-1 of the source, once it was computed. */
  sha: string | undefined;
  /** The digest while it is computed. */
  digest?: Promise<string>;
}

/** A script for each layout of `layout.ts`. */
export type ScriptByLayout = Readonly<Record<"lock" | "semaphore", Script>>;

export function script(source: string): Script {
  return { source, sha: undefined };
}

/**
 * Characters at the beginning of an id that name its client, as the end of its channel's name does. The rest of an id
 * is secret: only a client that may read the keys can write a message that a waiter believes.
 */
export const PROCESS_LENGTH = 8;

/** Characters of an id. */
export const ID_LENGTH = 21;

/** The start of the channels of a prefix; the name of a client follows. */
export function channelsOf(prefix: string): string {
  return `${prefix}push:`;
}

/** An expression: the name of the client that has this id. */
export const processOf = (id: string): string => `sub(${id}, 1, ${PROCESS_LENGTH})`;

/** The beginning of every script. */
export const commands = "local call, sub, format = redis.call, string.sub, string.format\n";

/** The server's time, in two parts, and in µs as a number. */
export const time = "local time = call('TIME')\n";
const now = "local now = time[1] * 1000000 + time[2]\n";
export const clock = `${commands}${time}${now}`;

/** The server's time as text of 16 digits, which compares as a number does. */
export const stamp = "local stamp = time[1] .. sub('00000' .. time[2], -6)\n";

/**
 * The time as a number, and two functions. Reads time, stamp.
 *
 * - `n16` formats other numbers as text of 16 digits: two small numbers are formatted faster than a large one.
 * - `keep` extends the life of a key, and never shortens it. Returns whether the life was too short: it then becomes a
 *   ttl longer than needed, so that most calls find it long enough. That is less than the time for which idle keys are
 *   kept, so a second key lasts, too, if only the first one is looked at. With `write` it always writes, which cannot
 *   grow memory and lets later writes pass maxmemory.
 */
export const writing = `${now}
local function n16(n)
  if n == now then return stamp end
  local low = n % 1000000
  return format('%010d%06d', (n - low) / 1000000, low)
end
local function keep(key, ms, write)
  local left = call('PTTL', key)
  if write or left < ms then
    call('PEXPIRE', key, math.max(left, ms + math.min(ms - ${IDLE_KEPT}, ${IDLE_KEPT / 2})))
  end
  return left < ms
end
`;
