/**
 * The script that renews holds, many at once.
 *
 * @module
 */
import { announce } from "./announce.ts";
import { clock, digits, lives, script } from "./script.ts";
import type { Script } from "./script.ts";

/**
 * KEYS: states; the other keys of a name are in the same slot. ARGV: latest server time, then for each: m or w (M or W:
 * set the end, even to an earlier one), id, ttl, retention. Returns now, then 1 or 0 for each; or -2 now. A hold whose
 * time is over is lost, also when there has been no other holder since.
 */
export const renew: Script = script(`${clock}${digits}${lives}
if now > tonumber(ARGV[1]) then return { -2, now } end
local out = { now }
for i, key in ipairs(KEYS) do
  local a = i * 4
  local kind, id, ms, retention = ARGV[a - 2], ARGV[a - 1], ARGV[a] + 0, ARGV[a + 1] + 0
  local ends, exact, mutex = now + ms * 1000, kind == 'M' or kind == 'W', kind == 'm' or kind == 'M'
  local leases, v = key .. ':leases', mutex and call('GET', key)
  local old = not mutex and call('ZSCORE', leases, id) or v and sub(v, 34, 54) == id and sub(v, 17, 32)
  old = tonumber(old or 0)
  out[i + 1] = old > now and 1 or 0
  if old > now then
    if not exact then ends = math.max(ends, old) end -- a late one must not shorten what extend() has set
    local life, queued = math.ceil((ends - now) / 1000) + retention, mutex and sub(v, 33, 33) == '+'
    keep(key, life, true)
    if mutex then
      call('SETRANGE', key, 16, n16(ends))
    else
      keep(leases, life)
      call('ZADD', leases, 'XX', ends, id)
      ends = tonumber(call('ZRANGE', leases, 0, 0, 'WITHSCORES')[2])
      queued = call('EXISTS', key .. ':queue') == 1
    end
    local ids = queued and call('ZRANGE', key .. ':queue', 0, 2) or {}
    if ids[1] then
      local known = call('HMGET', key .. ':waiters', unpack(ids))
      ${announce("1", "ends", "not mutex")}
    end
  end
end
return out
`);
