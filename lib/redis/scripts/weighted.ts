/**
 * The holders of a semaphore or a read-write lock, in Lua. A hold has a weight: a reader weighs 1, a writer everything.
 * KEYS[1] is a hash: f the last fence, n the weight in use, l the limit, r the id that released last, and h⟨id⟩ for each
 * holder: fence (16 digits), start (16), weight, owner. KEYS[4] is a sorted set of ids by the end of their leases.
 * Invariant: n is the sum of the holders' weights and never above the limit.
 *
 * @module
 */
import { LOOK } from "./queue.ts";

export const holders = `
local s = call('HMGET', KEYS[1], 'f', 'n', 'l', 'r')
local fence, used, limit, last, more = tonumber(s[1]) or 0, tonumber(s[2]) or 0, tonumber(s[3]), s[4], 0
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

local function expire()
  local ended = used > 0 and call('ZRANGEBYSCORE', KEYS[4], 0, now, 'LIMIT', 0, ${LOOK}) or {}
  if ended[1] then remove(ended) end
  if #ended == ${LOOK} then more = 1 end
end

local function grant(id, ms, weight, owner)
  fence, used, dirty = after(fence), used + weight, true
  call('HSET', KEYS[1], 'h' .. id, n16(fence) .. n16(now) .. format('%.0f', weight) .. ' ' .. owner)
  call('ZADD', KEYS[4], now + ms * 1000, id)
  life = math.max(life, ms)
end

local function mark() end

local function save(retention)
  call('HSET', KEYS[1], 'f', n16(fence), 'n', used, 'l', limit, 'r', last or '')
  if used == 0 and not queued then
    call('PEXPIRE', KEYS[1], math.max(retention, 1)) -- idle
  else
    keep(KEYS[1], life + retention)
    keep(KEYS[4], life + retention)
  end
end

local function prolong(own, ms, retention)
  local ends, hold = tonumber(call('ZSCORE', KEYS[4], own) or 0), call('HGET', KEYS[1], 'h' .. own)
  if ends <= now or not hold then return false end
  ends = math.max(ends, now + ms * 1000)
  local life = math.ceil((ends - now) / 1000) + retention
  keep(KEYS[1], life)
  keep(KEYS[4], life)
  call('ZADD', KEYS[4], 'XX', ends, own)
  return tonumber(sub(hold, 1, 16))
end

local function drop(own)
  local ends = tonumber(call('ZSCORE', KEYS[4], own) or 0)
  if call('HEXISTS', KEYS[1], 'h' .. own) == 0 then return nil end
  remove({ own })
  if ends <= now then return 0 end
  last = own
  return 1
end

local function evict()
  local ids = call('ZRANGE', KEYS[4], 0, ${LOOK - 1})
  if ids[1] then remove(ids) end
  return ids[1] and 1 or 0, #ids == ${LOOK} and 1 or 0
end

local function nextEnd()
  return tonumber(call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2] or 0)
end
`;
