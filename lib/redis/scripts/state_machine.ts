/**
 * The state machine of one name: holders, a queue, the last fence.
 *
 * - acquire: free and no waiters → holds. Held → waits (or not, without a position). Asked again by a waiter → still
 *   waits, and lives on. Asked again by a holder → holds, with the same token.
 * - release: holds → gone, and the queue is served. Waits → gone. Anything else → no effect, or the previous answer.
 * - serve: removes members whose life is over; then, while the head fits by its own limit, it holds.
 *
 * Invariants: the head is granted before any waiter behind it. Every grant has a larger token than all earlier grants,
 * and its message comes after every write. No run checks more than {@linkcode MOST_CHECKED} expired members. Each
 * script may run twice, late, or without its answer being received.
 *
 * @module
 */
import { IDLE, type Layout, lock, MOST_CHECKED, semaphore } from "./layout.ts";
import { commands, processOf, type Script, script, type ScriptByLayout, stamp, time, writing } from "./script.ts";

/** Removes all holders if their lives are gone. */
const forgetAll = `elseif used > 0 and call('EXISTS', KEYS[2]) == 0 then
    call('DEL', KEYS[1])
    used, dirty = 0, true
  `;

/** Removes members whose life is over. Reads stamp; sets the state, and `unfinished` if there are more of them. */
const expire = ({ isLock, forget }: Layout): string => `
if waiting > 0${isLock ? "" : " or used > 0"} then
  local ended = call('ZRANGEBYSCORE', KEYS[2], '-inf', stamp, 'LIMIT', '0', '${MOST_CHECKED}')
  if ended[1] then${forget}
    if waiting > 0 then waiting = waiting - call('ZREM', KEYS[3], unpack(ended)) end
    call('ZREM', KEYS[2], unpack(ended))
    if #ended == ${MOST_CHECKED} then unfinished = 1 end
  ${isLock ? "" : forgetAll}end
end
`;

/**
 * Grants from the head while it fits. Reads me, now, unfinished; sets the state, unfinished, `token`, the token of
 * `me`, and `granted`, which is to be published.
 */
const serve = ({ isLock, grant }: Layout): string => `
local granted, token, checked = {}, nil, 0
while waiting > 0 and unfinished == 0${isLock ? " and used == 0" : ""} do
  local m = call('ZRANGE', KEYS[3], '0', '0')[1]
  local ends = tonumber(call('ZSCORE', KEYS[2], m) or 0)
  local weight, limit, owner = string.match(m, '^ (%d+) (%d+) (.*)$', 22)
  if weight and ends > now then -- else its data is gone, or it is no waiter
    if used + weight > limit + 0 then break end -- letting small ones pass would starve this one
    ${grant}
    dirty = true
    if m == me then token = fence else granted[#granted + 1] = { m, fence } end
  end
  checked = checked + 1
  if checked == ${MOST_CHECKED} then unfinished = 1 end
  waiting = waiting - 1
  ${isLock ? "call('ZREM', KEYS[2], m)" : "if not (weight and ends > now) then call('ZREM', KEYS[2], m) end"}
  call('ZREM', KEYS[3], m)
end
`;

/** Notifies the granted waiters. Reads granted, channels; sets `mute` if this user may not publish. */
const notify = `
for _, grant in ipairs(granted) do
  local member, fence = grant[1], grant[2]
  local message = sub(member, 1, 21) .. format(' %.0f', fence)
  if type(redis.pcall('PUBLISH', channels .. ${processOf("member")}, message)) ~= 'number' then mute = 1 end
end
`;

/** Gives the caller its position, or extends its life. Reads me, now, stamp, life, ttl; sets position, waiting. */
const joinQueue = `
if position == '0' then
  position = stamp
  if waiting > 0 and call('ZCOUNT', KEYS[3], position, '+inf') > 0 then -- the clock was set back, or stands still
    position = n16(call('ZRANGE', KEYS[3], '-1', '-1', 'WITHSCORES')[2] + 1)
  end
else
  keep(KEYS[2], life, true) -- heartbeats pass maxmemory
end
if call('ZADD', KEYS[3], 'NX', position, me) == 1 then waiting = waiting + 1
elseif not ARGV[4] then position = n16(call('ZSCORE', KEYS[3], me)) end -- this command runs twice
call('ZADD', KEYS[2], now + ttl * 1000, me)
keep(KEYS[2], life)
keep(KEYS[3], life)
`;

/**
 * Gives a granted caller its life. Runs before the grant: if the user may not run ZADD, a hold alone would be an
 * incomplete state. Reads m, ends, life.
 */
const addLife = `
  call('ZADD', KEYS[2], ends, m)
  keep(KEYS[2], life)
`;

/**
 * KEYS as of the layout. ARGV: member; the sum of the ttl and the time for which idle keys are kept; start of the
 * channels; position, if it is not the end of the queue ("": does not wait).
 *
 * Returns the fence of a name that was free | 1 fence, and another limit if one is in use | 0 position fence, ms until
 * a life ends, listeners of the caller (-1: unknown), 1 to be asked again at once, and another limit | -2 (the id was
 * released already).
 */
function acquireFrom(layout: Layout): Script {
  const { isLock, acquireFree, read, prolong, grant, save } = layout;
  return script(`${commands}${time}${stamp}
local me = ARGV[1]
local id = sub(me, 1, 21)
${acquireFree}${writing}${read(false)}
local life, channels, position = ARGV[2] + 0, ARGV[3], ARGV[4] or '0'
local ttl = life - ${IDLE}
${prolong}
if released == id then return { -2 } end
local unfinished, mute, differingLimit = 0, 0, nil
${expire(layout)}
local weight, limit, owner = string.match(me, '^ (%d+) (%d+) (.*)$', 22)
${isLock ? "" : "if lastLimit ~= '' and lastLimit ~= limit and used > 0 then differingLimit = lastLimit + 0 end"}
local joinsQueue = position ~= '' and (waiting > 0 or used + weight > limit + 0)
if joinsQueue then${joinQueue}end
${serve(layout)}
if not joinsQueue and waiting == 0 and used + weight <= limit + 0 then
  local m, ends = me, now + ttl * 1000
  ${isLock ? "" : addLife}
  ${grant}
  token, dirty = fence, true
end
if dirty then${save}end
${notify}
if token then return { 1, token, differingLimit } end
${isLock ? "if waiting > 0 and waitersFlag == '-' then call('SETRANGE', KEYS[1], '16', '+') end" : ""}
if not joinsQueue then return { 0, 0, fence, 0, 0, unfinished, differingLimit } end
local soonest = ((call('ZRANGE', KEYS[2], '0', '0', 'WITHSCORES')[2] or now) - now) / 1000
${isLock ? "if used == 1 then soonest = math.min(soonest, rest) end" : ""}
local listeners = -1
if waiting == 1 or ARGV[4] then -- a newcomer behind others learns of it at its next heartbeat
  listeners = redis.pcall('PUBSUB', 'NUMSUB', channels .. ${processOf("id")})[2] or -1
end
return { 0, tonumber(position), fence, math.ceil(soonest), listeners, unfinished, differingLimit }
`);
}

/**
 * KEYS as above, or without the keys of waiters: then the queue is not served. Without KEYS it returns at once, so that
 * the server knows the script before it is needed. ARGV: member, start of the channels, and the purpose: none to
 * release a hold or a position, "late" to refuse an acquire that arrives later as well, "force" to end all holds,
 * "serve" to continue serving, or "wake" to let the first waiters ask, because a lease ends earlier.
 *
 * Returns code, or code unfinished mute, as a list takes longer. Code 1: was held, 2: waited, 0: unknown. Unfinished 1:
 * "serve" has to follow. Mute 1: this user may not publish.
 */
function releaseFrom(layout: Layout): Script {
  const { isLock, releaseAlone, read, drop, evict, save } = layout;
  return script(`${commands}
if #KEYS == 0 then return {} end
local me, channels, purpose = ARGV[1], ARGV[2], ARGV[3] or ''
local id = sub(me, 1, 21)
${releaseAlone}${time}${stamp}${writing}${read(true)}
local code, unfinished, mute = 0, 0, 0
if KEYS[3] then${expire(layout)}end
if purpose == 'force' then ${evict} elseif id ~= '' then
  ${drop}
  if code == 0 and waiting > 0 and call('ZREM', KEYS[3], me) == 1 then
    call('ZREM', KEYS[2], me)
    code, waiting = 2, waiting - 1
  end
  if code == 0 and released == id then code = 1 end -- asked again after the answer was lost
  if code > 0 or purpose == 'late' and KEYS[3] then released, dirty = id, true end -- without KEYS[3] it may be in the queue
end
if not KEYS[3] then
  if dirty then${save}end
  return { code, code == 1 and ${isLock ? "waitersFlag == '+'" : "true"} and 1 or 0 }
end
${serve(layout)}
if dirty then${save}end
if purpose == 'wake' then
  for _, m in ipairs(call('ZRANGE', KEYS[3], '0', '2')) do granted[#granted + 1] = { m, 0 } end -- no token
end
${notify}
if unfinished + mute == 0 then return code end
return { code, unfinished, mute }
`);
}

export const acquire: ScriptByLayout = { lock: acquireFrom(lock), semaphore: acquireFrom(semaphore) };
export const release: ScriptByLayout = { lock: releaseFrom(lock), semaphore: releaseFrom(semaphore) };
