/**
 * The scripts of a rate limit, over what `layout.ts` stores:
 *
 * - start: gives a call its turn, now or as soon as the calls ahead of it and its budgets allow. A turn that comes too
 *   late for its caller is not taken.
 * - askAgain: asks, at its turn, whether a call that has slept may start; otherwise moves its turn, and those behind
 *   it.
 * - give back: removes the start of a cancelled call. Calls behind it keep their turns, and later calls come sooner.
 * - change: gives back the latest starts, counts further starts, or blocks, and moves the calls that sleep.
 *
 * @module
 */
import { type Script, script } from "../scripts/script.ts";
import { bucketOf, only } from "./bucket.ts";
import * as lua from "./layout.ts";

/**
 * With more calls than this behind it, a start that is given back counts until its turn: rewriting the calls would take
 * too long.
 */
const MOST_REWRITTEN = 200;

/** Maximum number of entries that one reward changes. */
const MOST_REWARDED = 5000;

const bucket = bucketOf("levels");

/** The begin of the scripts that change the list. */
const preamble = lua.readHeader + lua.readBudgets + lua.entryFunctions + lua.editFunctions;

/**
 * ARGV[2]: the longest wait in µs ("" for any; -1 to take nothing), and then the permits of each budget. Returns the
 * turn, if it is now | 1 wait turn | 0 wait (nothing taken) remaining (of the first budget), and then the budgets of a
 * caller with others, if there is one.
 *
 * Two kinds of starts define no functions, which costs the most: of one bucket, that of the last caller, which has the
 * permits; and of other budgets that allow a start now, with nothing to drop:
 * `isFree` is whether all budgets allow it, and `isDue` whether entries may have to be dropped.
 */
export const start: Script = script(`${lua.readHeader}
if missing and not level4 and lastCaller == ARGV[1] and ARGV[2] ~= '-1' and lastTurn < now and blockEnd <= now then
  local limit, span = string.match(ARGV[1], '^%[%[(%d+)%],%[(-%d+)%]%]$')
  limit, span = (limit or 0) + 0, (span or 1) + 0
  local p = ARGV[3] + 0
  if span < 0 and (missing + p <= limit or ${only.filled} <= now) then
    local levels = { count + p, ${only.missingLua("now")} + p, now }
    local life = ceil(maxSpan / 1000)
    lastTurn, isListed = now, false
    ${lua.writeHeader}
    return now
  end
end
${lua.readBudgets}
local isFree, isDue = ARGV[2] ~= '-1' and lastTurn < now and blockEnd <= now and (isListed or not hasWindow), false
for i = 1, isFree and n or 0 do
  local p, j = permits[i], 3 * i - 2
  local total = levels[j] + p
  if spans[i] < 0 then
    isFree = isFree and (levels[j + 1] + p <= limits[i] or ${bucket.filled} <= now)
  elseif total > limits[i] and p > 0 then -- the gate is over, or one behind it
    local text = call('LINDEX', KEYS[2], -floor(limits[i] / p)) or call('LINDEX', KEYS[2], '0')
    local all = text and { decode(text) } or {}
    isFree = isFree and (all[1] or 0) > 1e12 and all[1] + spans[i] <= now
      and (all[j + 1] or 0) >= total - limits[i] and total < ${lua.MOST_COUNTED}
  end
  isDue = isDue or hasWindow and total % ${lua.BATCH} < p
end
if isDue then
  local text = call('LINDEX', KEYS[2], '${lua.BATCH - 1}')
  local turn = text and decode(text) or now
  isFree = isFree and max(turn, -turn) + maxSpan > now
end
if isFree then
  local at, starts, former, life = now, permits, nil, ceil(maxSpan / 1000)
  ${lua.countStarts}
  isListed, lastCaller = hasWindow, ARGV[1]
  if hasWindow and call('RPUSH', KEYS[2], encode(at, unpack(levels))) == 1 then keysEnd = 0 end -- the list is new
  ${lua.writeHeader}
  return other and { 1, 0, at, other } or at
end
${lua.entryFunctions}
if hasWindow then listLast() end
local at = max(now, lastTurn + 1, ready(levels, 0, permits, now)) -- overtakes none that sleeps
local wait = at - now
if ARGV[2] == '-1' or ARGV[2] ~= '' and wait > ARGV[2] + 0 then
  if isChanged then save() end -- starts are kept for a longer interval from now on
  local i, outside = 1, spans[1] > 0 and entry(after(now - spans[1]) + 1) -- the last entry before the window
  local remaining = spans[1] < 0 and floor(limits[1] - ${bucket.missingLua("now")} + 1e-9)
    or limits[1] - levels[1] + (outside and outside.levels[1] or 0)
  return { 0, wait, now >= blockEnd and lastTurn <= now and max(0, remaining) or 0, other }
end
if wait > 0 then listLast() end
add(at, permits, (hasWindow or wait > 0) and at)
lastCaller = ARGV[1]
save()
return { 1, wait, at, other }
`);

/**
 * ARGV[2]: the number of the call, and then its permits. Returns 1 wait number, as start. A call that is late goes
 * behind those that may have started since its turn. One that is not there, as after a loss of data, goes to the end.
 */
export const askAgain: Script = script(`${preamble}${lua.searchFunctions}
local number = ARGV[2] + 0
local k = find(number)
local turn = k and entry(k).turn
local before = k and entry(k + 1)
local keepsTurn = k and (turn > now or ready(before and before.levels or {}, k, permits, turn) <= turn)
  or not k and number + maxSpan <= now and blockEnd <= now -- it is over by now
local at = max(now, turn or 0)
if not keepsTurn then
  local calls = cut(k or 0)
  local x = putBack(calls, 2, 0, function(each) return each.turn <= now end)
  listLast()
  at = max(now, lastTurn + 1, ready(levels, 0, permits, now))
  add(at, permits, number, calls[1] and calls[1].levels)
  putBack(calls, x, math.huge)
  isChanged = true
end
if isChanged then save() end
return { 1, at - now, number }
`);

/**
 * ARGV[2]: the number of the call, and then its permits. Returns 1, or 0 if there is nothing to give back any more. A
 * start without an entry gives a bucket what surely is still missing (`unrefilled`); the order of numbers
 * shows whether it runs twice.
 */
export const giveBack: Script = script(`${preamble}${lua.searchFunctions}
local number = ARGV[2] + 0
local k = find(number)
if not k and (hasWindow or number <= lastBack or number > lastTurn) then return 0 end
lastBack = max(lastBack, number)
if k and k > ${MOST_REWRITTEN} then
  local each = entry(k)
  call('LSET', KEYS[2], -k, encode(-each.turn, ${lua.VOID}, unpack(each.levels)))
else
  local calls = cut(k or after(now))
  for i = 1, k and 0 or n do
    local unrefilled = max(0, permits[i] - (now - number) * limits[i] / -spans[i])
    levels[3 * i - 1] = max(0, levels[3 * i - 1] - unrefilled)
  end
  putBack(calls, k and 2 or 1, 0)
  flush()
end
local givenBack, texts = 0, nil
repeat -- no call waits behind those at the end
  texts = call('LRANGE', KEYS[2], -givenBack - 1000, -givenBack - 1)
  local x = #texts
  while x > 0 and read(texts[x]).number == ${lua.VOID} do x = x - 1 end
  givenBack = givenBack + #texts - x
until x > 0 or #texts == 0
cut(givenBack)
save()
return 1
`);

/** ARGV[2]: µs to block, and then the starts of each budget to count; below 0 to give back. Returns 1. */
export const change: Script = script(`${preamble}
if hasWindow then listLast() end
local calls = cut(lastTurn > now and after(now) or 0) -- those that sleep until their turn
if ARGV[2] + 0 > 0 then blockEnd = max(blockEnd, now + ARGV[2]) end
local k, hasStarts = 0, false
for i = 1, n do
  local unrewarded = levels[3 * i - 2] + permits[i]
  if spans[i] > 0 and permits[i] < 0 then
    local inside = earliest(0, function(each) return (each.levels[3 * i - 2] or 0) > unrewarded end)
    k = max(k, min(inside, after(now - spans[i]), ${MOST_REWARDED}))
  end
end
local madeCalls = cut(k)
for i = 1, n do
  if spans[i] > 0 and permits[i] < 0 then
    for x = #madeCalls, 1, -1 do
      local starts = madeCalls[x].starts
      local taken = madeCalls[x].turn + spans[i] > now and min(-permits[i], starts[i] or 0) or 0
      if taken > 0 then starts[i], permits[i] = starts[i] - taken, permits[i] + taken end
    end
    permits[i] = 0
  end
  hasStarts = hasStarts or permits[i] ~= 0
end
putBack(madeCalls, 1, 0)
if hasStarts then add(now, permits, (hasWindow or calls[1]) and ${lua.CHANGE}) end
putBack(calls, 1, math.huge)
save()
return 1
`);
