/**
 * The beginning of every script. Invariants: only the server's clock counts; every key has a time to live; every
 * write comes before the first message about a grant. Times are microseconds inside the server, milliseconds in
 * arguments; literal numbers are given to commands as text, which takes less time.
 *
 * @module
 */

/** A script and its digest. */
export interface Script {
  readonly source: string;
  /** Hexadecimal SHA-1 of the source, once it was computed. */
  sha: string | undefined;
}

export function script(source: string): Script {
  return { source, sha: undefined };
}

/** The start of all channels; the id of the process follows. */
export const CHANNEL = "interlock:push:";

export const prelude = `
local call, sub, format = redis.call, string.sub, string.format
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
-- 16 digits: two small numbers are formatted faster than a large one.
local function n16(n)
  local low = n % 1000000
  return format('%010d%06d', (n - low) / 1000000, low)
end
local function after(last) return last >= now and last + 1 or now end
-- Never shortens a life. With \`write\` it always writes, which cannot grow memory and lets later writes pass maxmemory.
local function keep(key, ms, write)
  local left = call('PTTL', key)
  if write or left < ms then call('PEXPIRE', key, math.max(left, ms, 1)) end
end
`;
