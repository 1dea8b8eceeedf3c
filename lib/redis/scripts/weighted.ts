/**
 * The holders of a semaphore or a read-write lock, in Lua. A hold has a weight: a reader weighs 1, a writer everything.
 * KEYS[1] is a hash: f the last fence, n the weight in use, l the limit, r the id that released last, and h⟨id⟩ for each
 * holder: fence (16 digits), start (16), weight, owner. KEYS[4] is a sorted set of ids by the end of their leases.
 * Invariant: n is the sum of the holders' weights and never above the limit.
 *
 * @module
 */
import type { Holding } from "./holding.ts";
import { LOOK } from "./queue.ts";
import { after, digits, lives } from "./script.ts";

const read = `${lives}
local s = call('HMGET', KEYS[1], 'f', 'n', 'l', 'r')
local fence, used, limit, last, more = (s[1] or 0) + 0, (s[2] or 0) + 0, s[3] and s[3] + 0, s[4], 0
local numbers = (s[1] or '') .. (s[2] or '') .. (s[3] or '')
if string.find(numbers, '%D') or not s[1] and call('EXISTS', KEYS[1]) == 1 then error('no state of a semaphore') end
local queued, life, dirty = call('EXISTS', KEYS[2]) == 1, 0, false

local function remove(ids)
  local fields = {}
  for i, id in ipairs(ids) do fields[i] = 'h' .. id end
  for _, hold in ipairs(call('HMGET', KEYS[1], unpack(fields))) do
    if hold then used = used - string.match(hold, '^%d+', 33) end
  end
  dirty = true
  call('HDEL', KEYS[1], unpack(fields))
  call('ZREM', KEYS[4], unpack(ids))
end
`;

/** The parts of the state machine that know where the holders are stored. */
export const weighted: Holding = {
  readToAcquire: read,
  readToRelease: digits + read,
  prolong: `
local ends, hold = tonumber(call('ZSCORE', KEYS[4], me) or 0), call('HGET', KEYS[1], 'h' .. me)
if ends > now and hold then
  ends = math.max(ends, now + ttl * 1000) -- a late command must not shorten what extend() has set
  local ms = math.ceil((ends - now) / 1000) + retention
  keep(KEYS[1], ms, true)
  keep(KEYS[4], ms)
  call('ZADD', KEYS[4], 'XX', ends, me)
  return { 1, tonumber(sub(hold, 1, 16)), now }
end
`,
  expire: `
local ended = used > 0 and call('ZRANGEBYSCORE', KEYS[4], 0, now, 'LIMIT', 0, ${LOOK}) or {}
if ended[1] then remove(ended) end
if #ended == ${LOOK} then more = 1 end
if used > 0 and not ended[1] and call('EXISTS', KEYS[4]) == 0 then used = 0 end -- their data is gone
`,
  nextEnd: `tonumber(call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2] or 0)`,
  mark: "",
  grant: (id, ms, weight, owner) => `
fence, used, dirty = ${after("fence")}, used + ${weight}, true
-- ZADD first: if the user may not run it, a hold alone in KEYS[1] would be no state
call('ZADD', KEYS[4], now + ${ms} * 1000, ${id})
call('HSET', KEYS[1], 'h' .. ${id}, n16(fence) .. stamp .. format('%.0f', ${weight}) .. ' ' .. ${owner})
life = math.max(life, ${ms})
`,
  save: () => `
call('HSET', KEYS[1], 'f', n16(fence), 'n', used, 'l', limit, 'r', last or '')
if used == 0 and not queued then
  call('PEXPIRE', KEYS[1], math.max(retention, 1)) -- idle
else
  keep(KEYS[1], life + retention)
  keep(KEYS[4], life + retention)
end
`,
  drop: `
local ends = tonumber(call('ZSCORE', KEYS[4], me) or 0)
if ends > 0 and call('HEXISTS', KEYS[1], 'h' .. me) == 1 then -- else its weight is not counted any more
  if ARGV[5] then -- where the removal may end the script, it is to be known
    keep(KEYS[1], 1, true) -- releases pass maxmemory
    call('HSET', KEYS[1], 'r', me)
  end
  remove({ me })
  code = ends > now and 1 or 0
  if code == 1 then last = me end
end
`,
  evict: `
local ids, latest = call('ZRANGE', KEYS[4], 0, ${LOOK - 1}), call('ZRANGE', KEYS[4], '-1', '-1', 'WITHSCORES')[2]
if ids[1] then remove(ids) end
code, more = (latest or 0) + 0 > now and 1 or 0, #ids == ${LOOK} and 1 or 0
`,
};
