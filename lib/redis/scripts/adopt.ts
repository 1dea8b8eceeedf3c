/**
 * The scripts that hand a hold over: it goes on under another id, with the same token and the same weight. Invariants: its
 * end never becomes earlier, since its first holder trusts it until it finds out; a script that runs twice finds its own
 * id, and answers the same.
 *
 * @module
 */
import { clock, digits, type HolderScripts, lives, type Script, script } from "./script.ts";

/**
 * KEYS as of the state machine. ARGV: the new id, the id of the hold, ttl, retention, latest server time, owner, weight
 * that the hold must have (0: any). Returns 1 fence now weight end | 0 now (not held) | -2 now (too late).
 */
function adoptBy(find: string, replace: string): Script {
  return script(`${clock}${digits}${lives}
if now > ARGV[5] + 0 then return { -2, now } end
local me, id, ends, fence, weight = ARGV[1], ARGV[2], 0, 0, 1
${find}
if ends <= now or (ARGV[7] ~= '0' and weight ~= ARGV[7] + 0) then return { 0, now } end
ends = math.max(ends, now + ARGV[3] * 1000)
local life = math.ceil((ends - now) / 1000) + ARGV[4]
${replace}
return { 1, fence, now, weight, ends }
`);
}

const adoptMutex = adoptBy(
  `
local v = call('GET', KEYS[1])
if v then
  local holder = sub(v, 34, 54)
  if holder == me then id = me end
  if holder == id then fence, ends = tonumber(sub(v, 1, 16)), tonumber(sub(v, 17, 32)) end
end
`,
  `
local text = sub(v, 1, 16) .. n16(ends) .. sub(v, 33, 33) .. me .. sub(v, 55, 91) .. ARGV[6]
call('SET', KEYS[1], text, 'PX', math.max(life, call('PTTL', KEYS[1])))
`,
);

const adoptWeighted = adoptBy(
  `
local hold = call('HGET', KEYS[1], 'h' .. id)
if not hold then
  id, hold = me, call('HGET', KEYS[1], 'h' .. me)
end
if hold then
  fence, weight = tonumber(sub(hold, 1, 16)), tonumber(string.match(hold, '^%d+', 33))
  ends = tonumber(call('ZSCORE', KEYS[4], id) or 0)
end
`,
  `
keep(KEYS[1], life)
keep(KEYS[4], life)
call('HSET', KEYS[1], 'h' .. me, sub(hold, 1, 32) .. format('%.0f', weight) .. ' ' .. ARGV[6])
call('ZADD', KEYS[4], ends, me)
if id ~= me then
  call('ZREM', KEYS[4], id)
  call('HDEL', KEYS[1], 'h' .. id)
end
`,
);

export const adopt: HolderScripts = { one: adoptMutex, weighted: adoptWeighted };
