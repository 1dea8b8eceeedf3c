/**
 * The queue of one name, in Lua. KEYS[2] is a sorted set of ids by arrival (µs, which is also `since`), KEYS[3] a hash
 * of id to: time until which the waiter counts as alive (16 digits), how it is notified (p or h), milliseconds of its
 * lease, weight, owner.
 *
 * Invariants:
 * - Alive is decided in one place. A waiter in mode p (its subscription was confirmed) is dead once nothing listens on
 *   its channel; one in mode h only when it has not asked for too long. A live waiter that was dropped gets its place
 *   back by its arrival time.
 * - A token is published only for a waiter that holds already, and never granted again.
 * - No run looks at more than {@linkcode LOOK} waiters; it returns 1 when another run has to go on.
 *
 * @module
 */
import { CHANNEL } from "./script.ts";

/** Waiters, or holders, that one run looks at. */
export const LOOK = 200;

/** Notifies the first waiters of the end of a lease, unless they ask before it anyway. */
export const announce = `
local function publish(id, text) redis.pcall('PUBLISH', '${CHANNEL}' .. sub(id, 1, 13), text) end

-- Whether there are waiters. \`at\` is the end of the first lease; with several holders a waiter also waits for those ahead.
local function announce(queue, waiters, at, several)
  local ids = call('ZRANGE', queue, 0, 2)
  if not ids[1] then return false end
  local known = call('HMGET', waiters, unpack(ids))
  for i, id in ipairs(ids) do
    local alive = known[i] and tonumber(sub(known[i], 1, 16)) or 0
    if alive > now then
      if at > 0 and at < alive then publish(id, format('%s 0 %.0f %.0f', id, now, at + (i - 1) * 50000)) end
      if several and (at == 0 or alive < at) then at = alive end
    end
  end
  return true
end
`;

export const queue = `${announce}
local heard = {}
-- How many listen on the channel of a waiter; -1 where this user may not ask.
local function listeners(id)
  local channel = '${CHANNEL}' .. sub(id, 1, 13)
  if not heard[channel] then
    local answer = redis.pcall('PUBSUB', 'NUMSUB', channel)
    heard[channel] = answer.err and -1 or answer[2]
  end
  return heard[channel]
end

local function alive(id, waiter)
  return tonumber(sub(waiter, 1, 16)) > now and (sub(waiter, 17, 17) ~= 'p' or listeners(id) ~= 0)
end

local function leave(id)
  call('HDEL', KEYS[3], id)
  return call('ZREM', KEYS[2], id)
end

-- The caller takes its place, or shows that it is still there. Returns the place, and 1 if its subscription is deaf.
local function join(id, seq, mode, weight, owner, ttl, liveness, retention)
  local deaf = mode == 'p' and listeners(id) == 0
  if deaf then mode = 'h' end
  if seq == '0' then
    local tail = call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
    seq = format('%.0f', tail[2] and after(tonumber(tail[2])) or now)
  else
    keep(KEYS[2], 1) -- heartbeats pass maxmemory
  end
  if call('ZADD', KEYS[2], 'NX', seq, id) == 0 then seq = call('ZSCORE', KEYS[2], id) end
  local lease = mode == 'p' and ttl or liveness -- one that has to ask needs a lease that outlives its next question
  call('HSET', KEYS[3], id, format('%016.0f%s%.0f %.0f %s', now + liveness * 1000, mode, lease, weight, owner))
  keep(KEYS[2], liveness + retention)
  keep(KEYS[3], liveness + retention)
  return tonumber(seq), deaf and 1 or 0
end

-- Grants from the head while it fits and drops the dead. Returns 1 to go on in another run, and the caller's token.
local function serve(me)
  local looked, most, mine, messages = 0, 1, false, {}
  local more, stop, changed = 0, used >= limit, false
  while not stop do
    local ids = call('ZRANGE', KEYS[2], 0, most - 1)
    if not ids[1] then break end
    local known, gone = call('HMGET', KEYS[3], unpack(ids)), {}
    for i, id in ipairs(ids) do
      stop = used >= limit
      if stop then break end
      if known[i] and alive(id, known[i]) then
        local ms, weight, owner = string.match(known[i], '^(%d+) (%d+) (.*)$', 18)
        stop = used + weight > limit -- letting small ones pass would starve this one
        if stop then break end
        grant(id, ms, weight, owner)
        if id == me then mine = fence else messages[#messages + 1] = { id, fence } end
      end
      gone[#gone + 1] = id
    end
    if gone[1] then
      call('ZREM', KEYS[2], unpack(gone))
      call('HDEL', KEYS[3], unpack(gone))
      changed = true
    end
    looked, most = looked + #ids, 100
    if looked >= ${LOOK} and not stop then
      stop, more = true, 1
    end
  end
  return more, mine, messages, changed
end

-- After everything is written: a server that refuses writes must not have published a token.
local function notify(messages)
  for _, m in ipairs(messages) do publish(m[1], format('%s %.0f %.0f', m[1], m[2], now)) end
end

-- When the caller should ask because a lease ends, or a waiter ahead of it would be dead; 0: at its next heartbeat. Only
-- the first waiters of the first three processes are to ask: no herd, and a dead process counts once.
local function askAt(id, pause)
  local at, ids, seen, rank = nextEnd(), nil, {}, 0
  if limit > 1 then
    local head = call('ZRANGE', KEYS[2], 0, 0)[1]
    local waiter = head and head ~= id and call('HGET', KEYS[3], head)
    if waiter then at = math.min(at == 0 and math.huge or at, tonumber(sub(waiter, 1, 16))) end
  end
  if at == 0 or at > now + pause * 1000 then return 0 end
  for _, other in ipairs(call('ZRANGE', KEYS[2], 0, 99)) do
    local process = sub(other, 1, 13)
    if other == id then return not seen[process] and rank < 3 and at + rank * 50000 or 0 end
    if not seen[process] then
      seen[process], rank = true, rank + 1
    end
  end
  return 0
end
`;
