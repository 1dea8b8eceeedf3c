/**
 * The script that renews holds, many at once, also of different names and kinds. It sets the end of each hold that has not
 * ended to one ttl from now. Where there are waiters, the first of them are notified of the new end: they would ask at the
 * old one, should the holder have crashed. A hold that has ended stays lost, also when there has been no other holder
 * since: its holder has stopped trusting it.
 *
 * Invariants: a renewal that comes late refuses itself, and never shortens what `extend()` has set; under maxmemory its
 * first write cannot grow, which lets the others pass.
 *
 * @module
 */
import { announce } from "./announce.ts";
import { clock, digits, lives, type Script, script } from "./script.ts";

/**
 * KEYS: for each hold the keys of its name, in the order of `keysOf`; or, with "own", only those that hold it, the state
 * and the leases: a name without waiters has no others, and in a cluster a command that names a key which does not exist
 * is refused while its slot is being moved. Then no waiter is notified of the end.
 *
 * ARGV: latest server time, "all" or "own", start of the channels, then for each: m or w (M or W: set the end, even to an
 * earlier one), id, ttl, retention. Returns now, then 1 or 0 for each; or -2 now. A hold whose time is over is lost, also
 * when there has been no other holder since.
 */
export const renew: Script = script(`${clock}${digits}${lives}
if now > tonumber(ARGV[1]) then return { -2, now } end
local out, k, own = { now }, 1, ARGV[2] == 'own'
for a = 4, #ARGV, 4 do
  local kind, id, ms, retention = ARGV[a], ARGV[a + 1], ARGV[a + 2] + 0, ARGV[a + 3] + 0
  local ends, exact, mutex = now + ms * 1000, kind == 'M' or kind == 'W', kind == 'm' or kind == 'M'
  local key, queue, waiters, leases = KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3]
  if own then leases = queue end
  k = k + (own and (mutex and 1 or 2) or (mutex and 3 or 4))
  local v = mutex and call('GET', key)
  -- Without its record a hold is not counted any more, and others may have its place.
  local known = v and sub(v, 34, 54) == id or not mutex and call('HEXISTS', key, 'h' .. id) == 1
  local old = not known and 0 or tonumber(mutex and sub(v, 17, 32) or call('ZSCORE', leases, id) or 0)
  out[#out + 1] = old > now and 1 or 0
  if old > now then
    if not exact then ends = math.max(ends, old) end -- a late one must not shorten what extend() has set
    local life, queued = math.ceil((ends - now) / 1000) + retention, not own and mutex and sub(v, 33, 33) == '+'
    keep(key, life, true)
    if mutex then
      call('SETRANGE', key, 16, n16(ends))
    else
      keep(leases, life)
      call('ZADD', leases, 'XX', ends, id)
      if not own then
        ends = tonumber(call('ZRANGE', leases, 0, 0, 'WITHSCORES')[2])
        queued = call('EXISTS', queue) == 1
      end
    end
    local ids = queued and call('ZRANGE', queue, 0, 2) or {}
    if ids[1] then
      local known, channels = call('HMGET', waiters, unpack(ids)), ARGV[3]
      ${announce("1", "ends", "not mutex")}
    end
  end
end
return out
`);
