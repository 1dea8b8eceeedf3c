/**
 * The scripts of a rate limit. Only this file knows how its starts are stored:
 *
 * - KEYS[1], the head, is a string: the latest moment, the correction of the server's clock, the end of a block, the
 *   count of dropped starts, the longest interval in use, and limit and interval of the last caller.
 * - KEYS[2] is a list with two elements for each call, in the order of turns: its turn, which no other call has, and the
 *   count of all starts up to and including its own. If the turn was moved, its first value follows after a colon.
 *
 * Moments and intervals are µs. The scripts:
 *
 * - start: gives a call its turn, now or as soon as the calls ahead of it and its own window allow. A turn that comes
 *   too late for its caller is not taken.
 * - again: asks, at its turn, whether a call that has slept may start; otherwise moves its turn, and those behind it.
 * - give back: removes the start of a cancelled call. Calls behind it keep their turns, and later calls come sooner.
 * - change: gives back the latest starts, counts further starts, or blocks.
 *
 * The first value of a turn identifies its call. Each call is judged by its own limit and interval, on which the stored data does not depend. Invariants: turns and
 * counts grow along the list. The window that ends with a turn has at most as many starts as its caller allows. Time
 * goes on with each command, even if the server's clock does not.
 *
 * @module
 */
import { type Script, script } from "../scripts/script.ts";

/** One start in LOOK checks for expired starts to drop, in steps that begin with LOOK entries. */
const LOOK = 8;

/**
 * With more calls than this behind it, a start that is given back counts until its turn: rewriting the calls would take
 * too long.
 */
const REWRITTEN = 200;

/** Maximum number of entries that one reward checks. */
const REWARDED = 5000;

/** Maximum number of entries of cancelled calls that one run drops from the end. */
const VOIDS = 2000;

/** With more dropped starts than this, counts begin anew: they are exact below 2^53 only. */
const MOST_DROPPED = 2 ** 51;

/** ARGV[1] and ARGV[2]: the caller's limit, and its interval in µs. */
const begin = `
local call, format = redis.call, string.format
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local floor, min, max = math.floor, math.min, math.max
local limit, interval = ARGV[1] + 0, ARGV[2] + 0
local seen, shift, blocked, dropped, longest, callers = 0, 0, 0, 0, 0, nil
local head = call('GET', KEYS[1])
if head then
  seen, shift, blocked, dropped, longest, callers = string.match(head, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+ %d+)$')
  if not callers then error('the head of a rate limit has another shape') end
  seen, shift, blocked, dropped, longest = seen + 0, shift + 0, blocked + 0, dropped + 0, longest + 0
else
  call('LTRIM', KEYS[2], '1', '0') -- starts without a head have no time
end
shift = max(shift, seen + 1 - now) -- the server's clock stands still, or was set back
local moment = now + shift
local isLonger = head and interval > longest
longest = max(longest, interval)
local other, otherInterval -- a reply ends before what is nil
if callers and callers ~= ARGV[1] .. ' ' .. ARGV[2] then other, otherInterval = string.match(callers, '(%d+) (%d+)') end

-- Turn, count, whether it was given back and still counts (stored as less than 0), first turn, and turns as stored, of
-- the k-th entry from the end; without one, no turn and the count of those dropped.
local function entry(k)
  local pair = call('LRANGE', KEYS[2], k == 1 and '-2' or format('%.0f', -2 * k), k == 1 and '-1' or format('%.0f', 1 - 2 * k))
  if not pair[2] then return nil, dropped end
  local turn, count, first = tonumber(pair[1]), tonumber(pair[2]), nil
  if not turn then
    turn, first = string.match(pair[1], '^(-?%d+):(%d+)$')
    turn, first = tonumber(turn), tonumber(first)
  end
  -- Lua takes other text for numbers, too, and many digits for one that is infinite.
  local isStart = turn and count and string.find(pair[1] .. pair[2], '^-?[%d:]+$') and turn % 1 + count % 1 == 0
  if not isStart then error('no start of a rate limit') end
  local positive = turn < 0 and -turn or turn
  return positive, count, turn < 0, first or positive, pair[1]
end
local last, total, isVoid = entry(1)
for _ = 1, isVoid and ${VOIDS} or 0 do -- these keep none waiting
  call('LTRIM', KEYS[2], '0', '-3')
  last, total, isVoid = entry(1)
  if not isVoid then break end
end
local function save()
  local life = format('%.0f', math.ceil((max(max(last or 0, moment) + longest, blocked) - moment) / 1000))
  callers = callers or ARGV[1] .. ' ' .. ARGV[2]
  local state = format('%.0f %.0f %.0f %.0f %.0f ', moment, shift, blocked, dropped, longest) .. callers
  call('SET', KEYS[1], state, 'PX', life)
  call('PEXPIRE', KEYS[2], life)
end
`;

// These are inserted where they are used: creating a function takes longer than a short command.

const search = `
local function length() return floor(call('LLEN', KEYS[2]) / 2) end -- whole, even if something else wrote an element
-- The k of the earliest entry for which \`is\` holds; it holds for all later ones, too, and for the one with k = low.
local function earliest(low, high, is)
  while low < high do
    local middle = floor((low + high + 1) / 2)
    if is(entry(middle)) then low = middle else high = middle - 1 end
  end
  return low
end
-- The number of entries whose turns are after this moment.
local function after(time) return earliest(0, length(), function(turn) return turn > time end) end
`;

const edit = `${search}
-- The k of the call with this first turn, unless it was given back or is over.
local function find(mine)
  local newest = after(mine)
  local moved = earliest(0, after(moment), function(_, _, _, first) return first > mine end)
  for _, k in ipairs({ newest + 1, moved + 1 }) do
    local turn, _, isVoid, first = entry(k)
    if first == mine and not isVoid and turn + longest > moment then return k end
  end
  for k = newest, 1, -1 do -- it was moved behind calls that came later
    local turn, _, isVoid, first = entry(k)
    if first == mine and not isVoid and turn + longest > moment then return k end
  end
end
-- Puts these entries, a flat list, in place of the last k.
local function put(k, entries)
  call('LTRIM', KEYS[2], '0', format('%.0f', -2 * k - 1))
  for i = 1, #entries, 1000 do call('RPUSH', KEYS[2], unpack(entries, i, min(i + 999, #entries))) end
end
-- The last k entries, as a flat list, with their counts changed.
local function shifted(k, by)
  local entries = k > 0 and call('LRANGE', KEYS[2], format('%.0f', -2 * k), '-1') or {}
  for i = 2, #entries, 2 do entries[i] = format('%.0f', entries[i] + by) end
  return entries
end
`;

/**
 * ARGV[3]: permits, the longest wait in µs ("" for any; -1 to take nothing). Returns 1 wait turn | 0 wait (nothing taken)
 * remaining (if it was to take nothing), and then limit and interval of a caller with other numbers, if there is one.
 */
export const start: Script = script(`${begin}
local permits, turn = ARGV[3] + 0, max(moment, blocked, (last or 0) + 1) -- nothing overtakes those that sleep until their turn
local expiring = total + permits - limit -- this number of all starts has to be over first
if expiring > dropped then
  local k = floor(limit / permits) -- if all calls have as many starts as this one
  local gate, count = entry(k)
  local isFirst = gate and count >= expiring
  if isFirst and count - expiring >= 1 then
    local _, before = entry(k + 1)
    isFirst = before < expiring
  end
  if not isFirst then
    ${search}
    gate = entry(earliest(1, min(limit - permits + 1, length()), function(_, count) return count >= expiring end))
  end
  turn = max(turn, gate + interval)
end
local wait = turn - moment
if isLonger then save() end -- starts are kept for it from now on, whether it takes one or not
if ARGV[4] == '-1' then
  ${search}
  local _, over = entry(after(moment - interval) + 1)
  local waits = moment < blocked or last and last > moment
  return { 0, wait, waits and 0 or max(0, limit - (total - over)), other, otherInterval }
end
if ARGV[4] ~= '' and wait > ARGV[4] + 0 then return { 0, wait, 0, other, otherInterval } end
call('RPUSH', KEYS[2], format('%.0f', turn), format('%.0f', total + permits))
last, callers = turn, ARGV[1] .. ' ' .. ARGV[2]
if (total + permits) % ${LOOK} < permits then
  local past, step, factor = 0, ${LOOK}, 2 -- steps that grow as long as they find no other start, and then shrink
  while step >= ${LOOK} do
    local old = call('LINDEX', KEYS[2], format('%.0f', 2 * (past + step) - 2))
    if old and string.match(old, '%d+') + longest <= moment then past = past + step else factor = 0.5 end
    step = step * factor
  end
  if past > 0 then
    dropped = call('LINDEX', KEYS[2], format('%.0f', 2 * past - 1)) + 0
    call('LTRIM', KEYS[2], format('%.0f', 2 * past), '-1')
  end
end
save()
return { 1, wait, turn, other, otherInterval }
`);

/**
 * ARGV[3]: permits; ARGV[4]: the call's first turn. Returns 1 wait turn, as start. A call that is late goes behind those
 * that may have started since its turn. One that is not there, as after a loss of data, goes to the end.
 */
export const again: Script = script(`${begin}${edit}
local permits, mine = ARGV[3] + 0, ARGV[4] + 0
local k, turn, count = find(mine), nil, nil
if k then
  turn, count = entry(k)
  local _, others = entry(k + 1)
  permits = count - others
elseif mine + longest <= moment and blocked <= moment then return { 1, 0, mine } end -- it is over by now
-- When it may start behind the first \`others\` starts, of which the last is the p-th entry from the end.
local function ready(others, p)
  local expiring, at = others + permits - limit, blocked
  if expiring <= dropped then return at end
  local gate = entry(earliest(p, length(), function(time, all)
    return (turn and time >= turn and all - permits or all) >= expiring
  end))
  return gate + longest > moment and max(at, gate + interval) or at
end
if k and turn <= moment and ready(count - permits, k) <= turn then return { 1, 0, mine } end
local behind = k and min(k - 1, after(moment)) or 0 -- this number of calls is behind it
local ahead, others = entry(behind + 1)
if k then others = others - permits end
if k == behind + 1 then ahead = entry(k + 1) end
local at = max(moment, (ahead or 0) + 1, ready(others, behind + 1))
local stored, entries = k and call('LRANGE', KEYS[2], format('%.0f', -2 * k), '-1') or {}, {}
local function add(text, all)
  entries[#entries + 1] = text
  entries[#entries + 1] = format('%.0f', all)
end
k = k or 0
for i = 3, 2 * (k - behind), 2 do add(stored[i], stored[i + 1] - permits) end
add(format('%.0f:%.0f', at, mine), others + permits)
for i = 2 * (k - behind) + 1, #stored, 2 do
  local sign, time, first = string.match(stored[i], '^(-?)(%d+):?(%d*)$')
  if turn and at > turn then stored[i] = sign .. format('%.0f:', time + at - turn) .. (first == '' and time or first) end
  add(stored[i], stored[i + 1])
end
put(k, entries)
last = entry(1)
save()
return { 1, at - moment, mine }
`);

/** ARGV[3]: first turn of the call. Returns 1, or 0 if there is nothing to give back any more. */
export const giveBack: Script = script(`${begin}${edit}
local k = find(ARGV[3] + 0)
if not k then return 0 end
local _, count, _, _, stored = entry(k)
local _, before = entry(k + 1)
if k <= ${REWRITTEN} then put(k, shifted(k - 1, before - count)) else call('LSET', KEYS[2], format('%.0f', -2 * k), '-' .. stored) end
last = entry(1)
save()
return 1
`);

/** ARGV[3]: starts to give back, starts to count, and µs to block. Returns 1. */
export const change: Script = script(`${begin}${edit}
local reward, penalty, block = ARGV[3] + 0, ARGV[4] + 0, ARGV[5] + 0
if block > 0 then blocked = max(blocked, moment + block) end
if penalty > 0 then -- drops starts that are over, because there may be no call of start
  local kept = earliest(0, length(), function(turn) return turn + longest > moment end)
  local _, over = entry(kept + 1)
  call('LTRIM', KEYS[2], format('%.0f', 2 * (length() - kept)), '-1')
  dropped = over
  if dropped > ${MOST_DROPPED} then
    put(kept, shifted(kept, -dropped))
    dropped = 0
  end
end
if reward + penalty > 0 then
  local later = after(moment) -- those that sleep until their turn
  local k, taken, entries = later, 0, {}
  local _, count = entry(k + 1)
  while taken < reward and k - later < ${REWARDED} do
    local turn, _, _, _, stored = entry(k + 1)
    if not turn or turn + interval <= moment then break end
    k = k + 1
    local _, before = entry(k + 1)
    taken = min(reward, count - before)
    if count - before > taken then entries = { stored, format('%.0f', count - taken) } end
  end
  if penalty > 0 then
    entries[#entries + 1] = format('%.0f', moment)
    entries[#entries + 1] = format('%.0f', count - taken + penalty)
  end
  for _, one in ipairs(shifted(later, penalty - taken)) do entries[#entries + 1] = one end
  put(k, entries)
  last = entry(1)
end
save()
return 1
`);
