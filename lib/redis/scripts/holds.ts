/**
 * The scripts that look at holds, extend them or hand them over. They use only keys that exist as long as the hold: its
 * state and, with several holders, the lives. So they run even while a cluster moves the slot of the name: a command
 * that names a missing key, such as the queue of a name without waiters, is refused then.
 *
 * @module
 */
import { IDLE, memberOf, UNSET, weightOf } from "./layout.ts";
import { clock, commands, type Script, script, stamp, time, writing } from "./script.ts";

/**
 * Sets `hold`, the stored data of the hold of `id`, and `rest`, its remaining milliseconds; 0 or less: not held. Reads
 * isLock, id, now.
 */
const find = (state: string, lives: string): string => `
if isLock then
  hold = call('GET', ${state})
  if hold and sub(hold, 18, 38) == id then rest = call('PTTL', ${state}) - ${IDLE} end
else
  hold = call('HGET', ${state}, id)
  if hold then rest = ((call('ZSCORE', ${lives}, ${memberOf("id", "hold")}) or 0) - now) / 1000 end
end
`;

/**
 * KEYS: state, and lives. ARGV: m for a lock or w for several holders, then id. Returns the remaining microseconds of
 * the hold; 0 or less: not held.
 */
export const verify: Script = script(`${clock}
local isLock, id, hold, rest = sub(ARGV[1], 1, 1) == 'm', sub(ARGV[1], 2), nil, 0
${find("KEYS[1]", "KEYS[2]")}
return { math.floor(rest * 1000) }
`);

/**
 * Sets the end of each hold to one ttl from now, by the present clock, so that a clock that was set back delays
 * nothing. Each command has the number of times that `extend()` has set the end. A command with a smaller number than
 * the last one is late, and would shorten the later end.
 *
 * KEYS: for each hold its state, and the lives unless it is a lock. ARGV for each, in one: m or w, id, number (8
 * digits), ttl. Returns for each: 1, or 0 not held, or 2 late.
 */
export const renew: Script = script(`${commands}${time}${stamp}${writing}
local results, k, scores = {}, 1, {}
for a, text in ipairs(ARGV) do
  local isLock, id, number, ms = sub(text, 1, 1) == 'm', sub(text, 2, 22), sub(text, 23, 30), sub(text, 31) + 0
  local hold, rest, state, alive, life = nil, 0, KEYS[k], KEYS[k + 1], ms + ${IDLE}
  k = k + (isLock and 1 or 2)
  ${find("state", "alive")}
  local sets = rest > 0 and (isLock and sub(hold, 60, 67) or sub(hold, 17, 24))
  results[a] = sets and (number < sets and 2 or 1) or 0
  if sets and number >= sets then
    if isLock then
      call('PEXPIRE', state, life)
      if number > sets then call('SETRANGE', state, '59', number) end
    else
      scores[ms] = scores[ms] or n16(now + ms * 1000)
      if keep(state, life) then keep(alive, life) end
      if type(redis.pcall('ZADD', alive, 'XX', scores[ms], ${memberOf("id", "hold")})) ~= 'number' then
        keep(state, life, true) -- cannot grow, which lets the others pass maxmemory
        call('ZADD', alive, 'XX', scores[ms], ${memberOf("id", "hold")})
      end
      if number > sets then call('HSET', state, id, sub(hold, 1, 16) .. number .. sub(hold, 25)) end
    end
  end
end
return results
`);

/**
 * Continues the hold under another id, with the same token and weight. Its end never becomes earlier, because its first
 * holder trusts it until it learns of the change. A second run finds its own id and returns the same reply.
 *
 * KEYS: state, and the lives unless it is a lock. ARGV: the new id, the id of the hold, ttl, owner, required weight of
 * the hold (0: any). Returns 1 fence weight | 0 (not held) | -2 (the new id was released already).
 */
export const adopt: Script = script(`${commands}${time}${stamp}${writing}
local isLock, me, id, hold, rest = not KEYS[2], ARGV[1], ARGV[2], nil, 0
${find("KEYS[1]", "KEYS[2]")}
local released
if isLock then released = hold and sub(hold, 39, 59) else released = call('HGET', KEYS[1], 'r') end
if released == me then return { -2 } end
if rest <= 0 then
  id = me
  ${find("KEYS[1]", "KEYS[2]")}
end
if rest <= 0 then return { 0 } end
local fence, weight = tonumber(sub(hold, 1, 16)), isLock and 1 or tonumber(${weightOf("hold")})
if ARGV[5] ~= '0' and weight ~= ARGV[5] + 0 then return { 0 } end
rest = math.ceil(math.max(rest, ARGV[3] + 0))
if isLock then
  local text = sub(hold, 1, 17) .. me .. sub(hold, 39, 59) .. '${UNSET}' .. ARGV[4]
  call('SET', KEYS[1], text, 'PX', rest + ${IDLE})
else
  local before = ${memberOf("id", "hold")}
  hold = sub(hold, 1, 16) .. '${UNSET}' .. string.match(hold, '^ %d+ %d+ ', 25) .. ARGV[4]
  keep(KEYS[1], rest + ${IDLE})
  keep(KEYS[2], rest + ${IDLE})
  call('HSET', KEYS[1], me, hold)
  call('ZADD', KEYS[2], now + rest * 1000, ${memberOf("me", "hold")})
  if id ~= me then
    call('HDEL', KEYS[1], id)
    call('ZREM', KEYS[2], before)
  end
end
return { 1, fence, weight }
`);
