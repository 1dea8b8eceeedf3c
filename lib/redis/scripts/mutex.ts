/**
 * The scripts that run inside Redis: what both families share, and the lean one for mutexes. Invariants: only the
 * server's clock counts; every key that a script writes has a time to live; a script that gives back or renews starts
 * with a write that cannot grow memory, so that Redis lets it through under maxmemory.
 *
 * Times are microseconds inside the server, milliseconds in arguments. The state of a mutex is one string:
 * fence (16 digits), end of the lease (16, zeros = free), "+" if somebody may wait or "-", the id of the holder, or of
 * the one who gave it back last (21), and, after a hand-over, of the holder before (21).
 *
 * @module
 */

/** A script and what it is known by. */
export interface Script {
  readonly source: string;
  /** Hexadecimal SHA-1 of the source, once it was computed. */
  sha: string | undefined;
}

export function script(source: string): Script {
  return { source, sha: undefined };
}

/** What channels start with; the id of the process follows. */
export const CHANNEL = "interlock:push:";

export const prelude = `
local call, sub, format = redis.call, string.sub, string.format
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local function n16(n) return format('%016.0f', n) end
local function atLeast(ms) return ms < 1 and 1 or ms end
`;

/**
 * Without keys a script only tells the time: the first command of a process, so that later ones can carry a latest
 * time. Releasing does it, so that it is known to the server before anybody can have something to give back.
 */
export const greeting = `if #KEYS == 0 then return now end`;

/** Standing in line: KEYS[2] is a sorted set of ids by arrival, KEYS[3] a hash of what is known of each. */
export const line: string = `
local function keep(key, ms)
  if call('PTTL', key) < ms then call('PEXPIRE', key, ms) end
end

-- Puts the caller in line, or tells that it is still there; a place once given is kept, also across a flush.
local function join(id, weight)
  local ms = ARGV[6] + ARGV[3]
  local seq = ARGV[8]
  if seq == '0' then
    local tail = call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
    seq = now
    if tail[2] and tail[2] + 0 >= now then seq = tail[2] + 1 end
    seq = format('%.0f', seq)
  else
    call('PEXPIRE', KEYS[2], ms) -- who is in line already stays so under maxmemory
  end
  if call('ZADD', KEYS[2], 'NX', seq, id) == 0 then seq = call('ZSCORE', KEYS[2], id) end
  call('HSET', KEYS[3], id, n16(now + ARGV[6] * 1000) .. ARGV[5] .. ARGV[7] .. ' ' .. weight)
  keep(KEYS[2], ms)
  keep(KEYS[3], ms)
  return seq + 0
end

-- What is known of a waiter: whether it is alive, how it is told, the length of its lease, its weight.
local function known(id)
  local w = call('HGET', KEYS[3], id)
  if not w or tonumber(sub(w, 1, 16)) <= now then return false end
  local ms, weight = string.match(w, '^(%d+) (%d+)$', 18)
  return true, sub(w, 17, 17), tonumber(ms), tonumber(weight)
end

local function leave(id)
  call('HDEL', KEYS[3], id)
  return call('ZREM', KEYS[2], id)
end

-- Tells a waiter. Nobody listening on its channel proves that it is gone, except where the count is one node's own (u).
local function told(id, mode, fence)
  if mode == 'h' then return true end
  local message = format('%s %.0f %.0f', id, fence, now)
  local heard = redis.pcall('PUBLISH', '${CHANNEL}' .. sub(id, 1, 13), message)
  if type(heard) == 'table' then return true end -- we may not publish: it finds out by asking
  return heard > 0 or mode == 'u'
end

local function after(last)
  return last >= now and last + 1 or now
end
`;

const mutexLine = `
-- Takes the first living waiter out of line; nil when there is none.
local function nextLiving(me, fence)
  while true do
    local id = call('ZRANGE', KEYS[2], 0, 0)[1]
    if not id then return nil end
    local alive, mode, ms = known(id)
    leave(id)
    if alive and (id == me or told(id, mode, fence)) then return id, ms end
  end
end

local function grant(id, fence, ms, mark, before)
  call('SET', KEYS[1], n16(fence) .. n16(now + ms * 1000) .. mark .. id .. before, 'PX', atLeast(ms + RETENTION))
end

local function mark()
  return call('EXISTS', KEYS[2]) == 1 and '+' or '-'
end
`;

/**
 * KEYS: state, order, waiters. ARGV: id, ttl, retention, latest server time (0: any), how to tell (t: do not wait, p:
 * push, u: push in a cluster, h: heartbeats), liveness, lease when handed over, place in line (0: at the end).
 * Answers 1 fence now | 0 now place end | -2 now (too late, or given back already).
 */
export const acquireMutex: Script = script(`${prelude}
local v = call('GET', KEYS[1])
local id = ARGV[1]
if ARGV[4] ~= '0' and now > tonumber(ARGV[4]) then return { -2, now } end
local last, ends, waited = 0, 0, false
if v then
  last = tonumber(sub(v, 1, 16))
  ends = tonumber(sub(v, 17, 32))
  waited = sub(v, 33, 33) == '+'
  if sub(v, 34, 54) == id then
    if ends == 0 then return { -2, now } end
    if ends > now then -- asked again: the answer was lost, or the message that told of the hand-over
      ends = math.max(ends, now + ARGV[2] * 1000) -- a late one must not shorten what extend() has set
      call('PEXPIRE', KEYS[1], math.ceil((ends - now) / 1000) + ARGV[3])
      call('SETRANGE', KEYS[1], 16, n16(ends))
      return { 1, last, now }
    end
  elseif sub(v, 55, 75) == id then
    return { -2, now }
  end
else
  waited = call('EXISTS', KEYS[2]) == 1
end
if ends <= now and not waited then
  local fence = last >= now and last + 1 or now
  call('SET', KEYS[1], n16(fence) .. n16(now + ARGV[2] * 1000) .. '-' .. id, 'PX', ARGV[2] + ARGV[3])
  return { 1, fence, now }
end
local RETENTION = ARGV[3] + 0
${line}${mutexLine}
local seq = 0
if ARGV[5] ~= 't' then seq = join(id, 1) end
if ends <= now then
  local fence = after(last)
  local nextId, ms = nextLiving(id, fence)
  if not nextId and ARGV[5] == 't' then nextId, ms = id, ARGV[2] + 0 end
  if nextId then
    grant(nextId, fence, ms, mark(), '')
    if nextId == id then return { 1, fence, now } end
    ends = now + ms * 1000
  end
elseif seq ~= 0 and not waited then
  call('SETRANGE', KEYS[1], 32, '+')
end
return { 0, now, seq, ends }
`);

/**
 * Gives back a hold or a place in line by id. KEYS as above. ARGV: id, retention, "force" (whoever holds) or "".
 * Answers code now more; code 1: was held, 2: stood in line, 0: neither, or over already.
 */
export const releaseMutex: Script = script(`${prelude}${greeting}
local v = call('GET', KEYS[1])
local id = ARGV[1]
local RETENTION = ARGV[2] + 0
local ends = v and tonumber(sub(v, 17, 32)) or 0
local held = ends ~= 0 and (sub(v, 34, 54) == id or ARGV[3] == 'force')
if not held then
  -- Asked again after the answer was lost: it is still true that this id gave it back.
  local again = v and ARGV[3] ~= 'force' and ((ends == 0 and sub(v, 34, 54) == id) or sub(v, 55, 75) == id)
  if again then return { 1, now, 0 } end
  call('HDEL', KEYS[3], id)
  return { call('ZREM', KEYS[2], id) * 2, now, 0 }
end
if ends <= now or ARGV[3] == 'force' then id = string.rep(' ', 21) end
local last = tonumber(sub(v, 1, 16))
if sub(v, 33, 33) == '+' then
  ${line}${mutexLine}
  local fence = after(last)
  local nextId, ms = nextLiving(nil, fence)
  if nextId then
    grant(nextId, fence, ms, mark(), id)
    return { ends > now and 1 or 0, now, 0 }
  end
end
local free = n16(last) .. '0000000000000000-' .. id
local ok = redis.pcall('SET', KEYS[1], free, 'PX', atLeast(RETENTION))
if type(ok) == 'table' and ok.err then
  call('PEXPIRE', KEYS[1], atLeast(RETENTION)) -- a write that cannot grow makes room for one that only might
  call('SET', KEYS[1], free, 'PX', atLeast(RETENTION))
end
return { ends > now and 1 or 0, now, 0 }
`);

/** Answers now, time to live, fence, limit, holders (id, end, fence, weight, …), waiters (id, …). KEYS as above. */
export const inspectMutex: Script = script(`${prelude}${line}
local v = call('GET', KEYS[1])
local holders, waiters = {}, {}
if v and tonumber(sub(v, 17, 32)) > now then
  holders = { sub(v, 34, 54), tonumber(sub(v, 17, 32)), tonumber(sub(v, 1, 16)), 1 }
end
for _, id in ipairs(call('ZRANGE', KEYS[2], 0, -1)) do
  if known(id) then waiters[#waiters + 1] = id end
end
return { now, call('PTTL', KEYS[1]), v and tonumber(sub(v, 1, 16)) or 0, 1, holders, waiters }
`);

/**
 * Renews many holds at once. KEYS: states. ARGV: latest server time, then for each: m or w (M or W: set the end, even
 * to an earlier one), id, ttl, retention. Answers now, then 1 or 0 for each; or -2 now. A hold that ran out is lost
 * even where nobody has taken it since.
 */
export const renew: Script = script(`${prelude}
if now > tonumber(ARGV[1]) then return { -2, now } end
local out = { now }
for i, key in ipairs(KEYS) do
  local a = i * 4
  local kind, id, ms, retention = ARGV[a - 2], ARGV[a - 1], ARGV[a] + 0, ARGV[a + 1] + 0
  local ends, exact = now + ms * 1000, kind == 'M' or kind == 'W'
  out[i + 1] = 0
  if kind == 'm' or kind == 'M' then
    local v = call('GET', key)
    local old = v and sub(v, 34, 54) == id and tonumber(sub(v, 17, 32)) or 0
    if old > now then
      if not exact then ends = math.max(ends, old) end -- a late one must not shorten what extend() has set
      call('PEXPIRE', key, math.ceil((ends - now) / 1000) + retention)
      call('SETRANGE', key, 16, n16(ends))
      out[i + 1] = 1
    end
  else
    local s = call('HMGET', key, 'h' .. id, 'x', 'e')
    local old = s[1] and tonumber(sub(s[1], 1, 16)) or 0
    if old > now then
      if not exact then ends = math.max(ends, old) end
      local upto, first = math.max(ends, tonumber(s[2])), math.min(ends, tonumber(s[3]))
      call('PEXPIRE', key, math.ceil((upto - now) / 1000) + retention)
      call('HSET', key, 'h' .. id, n16(ends) .. sub(s[1], 17), 'x', n16(upto), 'e', n16(first))
      out[i + 1] = 1
    end
  end
end
return out
`);
