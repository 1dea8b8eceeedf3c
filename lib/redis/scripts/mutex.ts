/**
 * The holder of a mutex, in Lua: one string, so that a free lock costs a GET and a SET. Fence (16 digits), end of the
 * lease (16), "+" if there may be waiters or "-", holder (21, blank when free), the one that released last (21), start
 * of the lease (16), owner. Invariant: used == 1 implies that the lease has not ended.
 *
 * @module
 */
export const holder = `
local NONE = string.rep(' ', 21)
local v = call('GET', KEYS[1])
local fence, first, used, limit, more, dirty = 0, 0, 0, 1, 0, false
local queued, id, last, tail = nil, NONE, NONE, n16(0)
if v then
  fence, first, queued = tonumber(sub(v, 1, 16)), tonumber(sub(v, 17, 32)), sub(v, 33, 33) == '+'
  id, last, tail = sub(v, 34, 54), sub(v, 55, 75), sub(v, 76)
  if first > now then used = 1 end
else
  queued = call('EXISTS', KEYS[2]) == 1
end

local function expire() end

local function grant(to, ms, _, owner)
  fence, first, used, dirty = after(fence), now + ms * 1000, 1, true
  id, tail = to, n16(now) .. owner
end

local function mark() -- there are waiters; keeps the life of the key
  if v then call('SETRANGE', KEYS[1], 32, '+') end
end

local function save(retention, releasing)
  local text = n16(fence) .. n16(first) .. (queued and '+' or '-') .. id .. last .. tail
  local ms = (used == 1 and math.ceil((first - now) / 1000) or 0) + retention
  if ms < 1 then ms = 1 end
  if not releasing then return call('SET', KEYS[1], text, 'PX', ms) end
  local ok = redis.pcall('SET', KEYS[1], text, 'PX', ms)
  if ok.err then -- a write that cannot grow makes room for one that only might
    keep(KEYS[1], ms)
    call('SET', KEYS[1], text, 'PX', ms)
  end
end

-- The caller's own lease, which now lasts at least \`ms\` from now; false if it has none.
local function prolong(own, ms, retention)
  if used == 0 or id ~= own then return false end
  first = math.max(first, now + ms * 1000) -- a late command must not shorten what extend() has set
  keep(KEYS[1], math.ceil((first - now) / 1000) + retention)
  call('SETRANGE', KEYS[1], 16, n16(first))
  return fence
end

-- Ends the hold of \`own\`. Returns 1 if it still held, 0 if its time was over, nil if it is not the holder.
local function drop(own)
  if id ~= own then return nil end
  local held = used
  if held == 1 then last = own end
  id, first, used, tail, dirty = NONE, 0, 0, n16(0), true
  return held
end

local function evict()
  local held = used
  if id ~= NONE then drop(id) end
  last = NONE -- its release is to report that it no longer held
  return held, 0
end

local function nextEnd() return used == 1 and first or 0 end
`;
