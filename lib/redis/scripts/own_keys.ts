/**
 * The scripts that look at one hold, or end it, by the keys that exist as long as it does: its state, and the leases where
 * there are several.
 *
 * - verify writes nothing, so a hold neither lasts longer nor ends by being looked at, and it runs on a server that refuses
 *   writes.
 * - releaseOwn is for a cluster in which the slot of the name is being moved. There a command is refused that names a key
 *   which does not exist, such as the queue of a name without waiters. It leaves the same state as a holder that died just
 *   now, so the waiters, or the same release in full, go on from there; a key that may vanish is written last, as every
 *   access to it after that would end the script.
 *
 * @module
 */
import { NONE, ZERO } from "./mutex.ts";
import { clock, type HolderScripts, type Script, script } from "./script.ts";

/**
 * KEYS: state, and leases where there are some. ARGV: m or w, id. Returns now and the microseconds that are left of the
 * hold; 0 or less: not held.
 */
export const verify: Script = script(`${clock}
local ends = 0
if ARGV[1] == 'm' then
  local v = call('GET', KEYS[1])
  if v and sub(v, 34, 54) == ARGV[2] then ends = tonumber(sub(v, 17, 32)) end
elseif call('HEXISTS', KEYS[1], 'h' .. ARGV[2]) == 1 then -- else its weight is not counted any more
  ends = tonumber(call('ZSCORE', KEYS[2], ARGV[2]) or 0)
end
return { now, ends == 0 and 0 or ends - now }
`);

/** KEYS: state. ARGV: id, retention. Returns code now more: as the release in full, with 2 for more if there may be waiters. */
const releaseOwnMutex = script(`${clock}
local v, me = call('GET', KEYS[1]), ARGV[1]
if not v then return { 0, now, 0 } end
local last = sub(v, 55, 75)
if sub(v, 34, 54) ~= me then return { last == me and 1 or 0, now, 0 } end
local held = tonumber(sub(v, 17, 32)) > now
local text = sub(v, 1, 16) .. '${ZERO}' .. sub(v, 33, 33) .. '${NONE}' .. (held and me or last) .. '${ZERO}'
local life = math.max(call('PTTL', KEYS[1]), ARGV[2] + 0)
call('PEXPIRE', KEYS[1], life) -- cannot grow, which lets the next write pass maxmemory
call('SET', KEYS[1], text, 'PX', life)
return { held and 1 or 0, now, sub(v, 33, 33) == '+' and 2 or 0 }
`);

/**
 * KEYS: state, leases, or the state alone where the leases are gone, or moved: then code -1 unless the release in full
 * ended this hold before it failed. The rest is the same.
 */
const releaseOwnWeighted = script(`${clock}
local me = ARGV[1]
if not KEYS[2] then
  local s = call('HMGET', KEYS[1], 'h' .. me, 'r')
  return { not s[1] and s[2] == me and 1 or -1, now, 2 }
end
local ends, s = tonumber(call('ZSCORE', KEYS[2], me) or 0), call('HMGET', KEYS[1], 'h' .. me, 'n', 'r')
if ends == 0 or not s[1] then return { s[3] == me and 1 or 0, now, 0 } end
call('PEXPIRE', KEYS[1], math.max(call('PTTL', KEYS[1]), ARGV[2] + 0)) -- as above
call('HSET', KEYS[1], 'n', s[2] - string.match(s[1], '^%d+', 33), 'r', ends > now and me or s[3] or '')
call('HDEL', KEYS[1], 'h' .. me)
call('ZREM', KEYS[2], me)
return { ends > now and 1 or 0, now, 2 }
`);

export const releaseOwn: HolderScripts = { one: releaseOwnMutex, weighted: releaseOwnWeighted };
