/**
 * The queue of one name, in Lua. KEYS[2] is a sorted set of ids by arrival (µs, which is also `since`), KEYS[3] a hash
 * of id to: time until which the waiter counts as alive (16 digits), how it is notified (c or h), ttl in ms, weight, owner.
 *
 * Invariants:
 * - Alive is decided in one place. A waiter is dead when it has not asked for its ttl, or {@linkcode LIVENESS} if that
 *   is longer; one in mode c (its subscription was confirmed) also once nothing listens on its channel. A live waiter
 *   that was dropped gets its place back by its arrival time.
 * - A token is published only for a waiter that holds already, and never granted again.
 * - No run looks at more than {@linkcode LOOK} waiters; it returns 1 when another run has to go on.
 *
 * @module
 */
import { HEARTBEAT, HEARTBEAT_LATENESS, HEARTBEAT_STRETCH, LIVENESS } from "../times.ts";
import { announce, firstOfEach, orDoubt, publish } from "./announce.ts";
import type { Holding } from "./holding.ts";
import { processOf } from "./script.ts";

/** Waiters, or holders, that one run looks at. */
export const LOOK = 200;

/** The caller takes its place, or shows that it is still there. */
export const join = `
local seq = ARGV[6]
if mode == 'c' then
  local subscribed = redis.pcall('PUBSUB', 'NUMSUB', channels .. ${processOf("me")})
  if subscribed[2] == 0 then mode, deaf = 'h', 1 end
end
if seq == '0' then
  seq = stamp
  if call('ZCOUNT', KEYS[2], seq, '+inf') > 0 then -- the clock was set back, or stands still
    seq = n16(call('ZRANGE', KEYS[2], '-1', '-1', 'WITHSCORES')[2] + 1)
  end
else
  keep(KEYS[2], 1, true) -- heartbeats pass maxmemory
end
if call('ZADD', KEYS[2], 'NX', seq, me) == 0 then seq = call('ZSCORE', KEYS[2], me) end
local liveness = math.max(ttl, ${LIVENESS})
local alive = now + liveness * 1000
call('HSET', KEYS[3], me, n16(alive) .. mode .. ARGV[2] .. ' ' .. (ARGV[9] or '1') .. ' ' .. owner)
keep(KEYS[2], liveness + retention)
keep(KEYS[3], liveness + retention)
place, queued = tonumber(seq), true
`;

const listeners = `
local heard = {}
-- How many listen on the channel of a waiter; -1 where this user may not ask.
local function listeners(id)
  local channel = channels .. ${processOf("id")}
  if not heard[channel] then
    local answer = redis.pcall('PUBSUB', 'NUMSUB', channel)
    heard[channel] = answer.err and -1 or answer[2]
  end
  return heard[channel]
end
`;

/** A waiter in KEYS[3]: its ttl in ms, its weight, its owner. */
const RECORD = `^${"%d".repeat(16)}%l(%d+) (%d+) (.*)$`;

/** An expression: the one place that decides it. */
const isAlive = (id: string, waiter: string): string =>
  `${waiter} and ${waiter} > stamp and (sub(${waiter}, 17, 17) ~= 'c' or listeners(${id}) ~= 0)`;

/**
 * Serving from the head: grants while it fits, and drops the dead. Sets `mine`, the token of `me`, and `more`; `messages`
 * are to be published by {@linkcode notify}, which sets `mute` if that is refused.
 */
export const serve = ({ nextEnd, grant }: Holding): string =>
  `${listeners}
local to, looked, messages, changed, full, ids, known, i = '3', 0, {}, false
repeat
  ids, i = call('ZRANGE', KEYS[2], '0', to), 1
  known = ids[1] and call('HMGET', KEYS[3], unpack(ids)) or {}
  while ids[i] and used < limit do
    local other, waiter = ids[i], known[i]
    local ms, weight, owner = nil, nil, nil
    if ${isAlive("other", "waiter")} then ms, weight, owner = string.match(waiter, '${RECORD}') end
    if weight then -- else it is dead, or no record of a waiter
      ms, weight = ms + 0, weight + 0
      if used + weight > limit then break end -- letting small ones pass would starve this one
      -- one that has to ask needs a lease that outlives its next question
      if sub(waiter, 17, 17) ~= 'c' and listeners(other) < 1 then ms = math.max(ms, ${LIVENESS}) end
      ${grant("other", "ms", "weight", "owner")}
      if other == me then mine = fence else messages[#messages + 1] = { other, fence } end
    end
    i = i + 1
  end
  if i > 1 then
    local gone = { unpack(ids, 1, i - 1) }
    call('ZREM', KEYS[2], unpack(gone))
    call('HDEL', KEYS[3], unpack(gone))
    changed = true
  end
  looked, full, to = looked + i - 1, i > #ids and #ids == to + 1, '99'
  if full and looked >= ${LOOK} then more = 1 end
until not full or looked >= ${LOOK}
queued = ids[i] ~= nil or full
if changed or releasing then
  if #ids - i < 2 and #ids > 3 then -- perhaps there are more
    ids, i = call('ZRANGE', KEYS[2], '0', '2'), 1
    known, queued = ids[1] and call('HMGET', KEYS[3], unpack(ids)) or {}, ids[1] ~= nil
  end
  if ids[i] then
    local ends = ${nextEnd}
    ${firstOfEach}
    ${announce("i", "ends", "limit > 1")}
  end
end
`;

/** After everything is written: a server that refuses writes must not have published a token. */
export const notify = `
for _, m in ipairs(messages) do
  if type(${publish("m[1]", "n16(m[2]) .. ' ' .. stamp")}) ~= 'number' then mute = 1 end
end
`;

/**
 * When the caller should ask because a lease ends, or a waiter ahead of it would be dead; 0: at its next heartbeat. Only
 * the first waiters of the first three processes are to ask: no herd, and a dead process counts once. Dead waiters that
 * keep the caller from being among the first go.
 */
export const askAt = ({ nextEnd }: Holding): string => `
local at, seen = ${nextEnd}, {}
if limit > 1 then
  local head = call('ZRANGE', KEYS[2], 0, 0)[1]
  local waiter = head and head ~= me and call('HGET', KEYS[3], head)
  if waiter then${orDoubt}
    seen[${processOf("head")}] = true -- if it is dead, so is its process
  end
end
local pause = math.min(math.max(${HEARTBEAT}, ttl / 3) + ${HEARTBEAT_STRETCH}, math.max(ttl, ${LIVENESS}) - ${HEARTBEAT_LATENESS} - 100)
-- it asks before that; 100: the first three ask 50 ms apart
if at == 0 or at > now + pause * 1000 then return { 0, now, place, 0, deaf, more, fence } end
local ids, rank = call('ZRANGE', KEYS[2], '0', '99'), 0
for _, other in ipairs(ids) do
  local process = ${processOf("other")}
  if other == me and (seen[process] or rank < 3) then
    return { 0, now, place, seen[process] and 0 or at + rank * 50000, deaf, more, fence }
  end
  if not seen[process] then
    seen[process], rank = true, rank + 1
  end
end
if ids[1] then -- not among the first; if that is because of dead ones, they go, and it asks again
  ${listeners}
  local gone = {}
  for i, waiter in ipairs(call('HMGET', KEYS[3], unpack(ids))) do
    if not (${isAlive("ids[i]", "waiter")}) then gone[#gone + 1] = ids[i] end
  end
  if gone[1] then
    call('ZREM', KEYS[2], unpack(gone))
    call('HDEL', KEYS[3], unpack(gone))
    more = 1
  end
end
return { 0, now, place, 0, deaf, more, fence }
`;
