/**
 * The scripts of a rate limit with several budgets, or with a token bucket. Only this file knows how it is stored:
 *
 * - KEYS[1], the head, is a string: the latest moment, the correction of the server's clock, the end of a block, the
 *   longest interval in use, and the moment and the levels of buckets before the first start of the list; after a bar the
 *   budgets of the last caller.
 * - KEYS[2] is a list with one element for each call, in the order of turns: its turn, a colon, its first turn, which
 *   identifies it, and its permits of each budget.
 *
 * They do what `scripts.ts` says of a single window, in time that grows with the starts of the longest interval.
 *
 * @module
 */
import { type Script, script } from "../scripts/script.ts";

/** The longest time in µs, a century, that a penalty empties a bucket for: sums with the present time are exact. */
export const MOST_MISSING = 100 * 365 * 24 * 3600 * 1e6;

/** ARGV[1]: the caller's budgets, such as "w20/1000000 b5/60000000" (µs). */
const begin = `
local call, format, match = redis.call, string.format, string.match
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local function list(text)
  local numbers = {}
  for number in string.gmatch(text, '%S+') do numbers[#numbers + 1] = tonumber(number) or error('no number of a rate limit') end
  return numbers
end
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local budgets, seen, shift, blocked, longest, since, levels, callers = {}, 0, 0, 0, 0, 0, {}, nil
for kind, limit, interval in string.gmatch(ARGV[1], '(%a)(%d+)/(%d+)') do
  budgets[#budgets + 1] = { isBucket = kind == 'b', limit = limit + 0, interval = interval + 0 }
end
local head = call('GET', KEYS[1])
if head then
  local text
  text, callers = match(head, '^([^|]+)|(.+)$')
  if not callers then error('the head of a rate limit has another shape') end
  levels = list(text)
  seen, shift, blocked, longest, since = unpack(levels, 1, 5)
  levels = { unpack(levels, 6) }
else
  call('DEL', KEYS[2]) -- starts without a head have no time
end
shift = max(shift, seen + 1 - now) -- the server's clock stands still, or was set back
local moment = now + shift
local isChanged = false -- also if the call takes nothing
for _, budget in ipairs(budgets) do
  isChanged = isChanged or head and budget.interval > longest
  longest = max(longest, budget.interval)
end
local function answer(...)
  local reply = { ... }
  if callers and callers ~= ARGV[1] then
    for kind, limit, interval in string.gmatch(callers, '(%a)(%d+)/(%d+)') do
      reply[#reply + 1] = limit + 0
      reply[#reply + 1] = kind == 'b' and -interval or interval + 0
    end
  end
  return reply
end
local starts = {}
for i, text in ipairs(call('LRANGE', KEYS[2], '0', '-1')) do
  local at, first, permits = match(text, '^(%d+):(%d+) (.+)$')
  if not at then error('no start of a rate limit') end
  starts[i] = { at = at + 0, first = first + 0, permits = list(permits) }
end

-- The level of the i-th bucket, and its moment, after the first n starts.
local function level(i, n)
  local limit, refill = budgets[i].limit, budgets[i].limit / budgets[i].interval
  local permits, at = min(limit, levels[i] or limit), since
  for j = 1, n do
    permits = min(limit, permits + max(0, starts[j].at - at) * refill)
    at = max(at, starts[j].at)
    permits = max(min(limit, permits - (starts[j].permits[i] or 0)), -${MOST_MISSING} * refill)
  end
  return permits, at
end
local function drop()
  local n = 0
  while starts[n + 1] and starts[n + 1].at + longest <= moment do n = n + 1 end
  if n == 0 then return end
  isChanged = true
  local kept = {}
  for i, budget in ipairs(budgets) do
    kept[i] = budget.isBucket and level(i, n) or levels[i] or budget.limit
  end
  for i = #budgets + 1, #levels do kept[i] = levels[i] end
  since, levels = starts[n].at, kept
  for i = 1, #starts do starts[i] = starts[i + n] end
end
drop()
-- When these permits are there after the first n starts.
local function ready(permits, n)
  local at = blocked
  for i, budget in ipairs(budgets) do
    local wanted = permits[i] or 0
    if wanted > 0 and budget.isBucket then
      local there, from = level(i, n)
      if there < wanted then at = max(at, from + ceil((wanted - there) * budget.interval / budget.limit)) end
    elseif wanted > 0 then
      local over = wanted - budget.limit
      for j = 1, n do over = over + max(0, starts[j].permits[i] or 0) end
      for j = 1, n do
        if over <= 0 then break end
        over = over - max(0, starts[j].permits[i] or 0)
        if over <= 0 then at = max(at, starts[j].at + budget.interval) end
      end
    end
  end
  return at
end
local function save()
  local last = starts[#starts]
  local untilTime = max((last and last.at or moment) + longest, blocked, moment)
  for i, budget in ipairs(budgets) do
    if budget.isBucket then
      local there, at = level(i, #starts)
      untilTime = max(untilTime, at + ceil((budget.limit - there) * budget.interval / budget.limit))
    end
  end
  local life = format('%.0f', max(1, ceil((untilTime - moment) / 1000)))
  local text = format('%.0f %.0f %.0f %.0f %.0f', moment, shift, blocked, longest, since)
  for _, each in ipairs(levels) do text = text .. format(' %.17g', each) end
  call('SET', KEYS[1], text .. '|' .. (callers or ARGV[1]), 'PX', life)
  call('DEL', KEYS[2])
  for _, start in ipairs(starts) do
    local text = format('%.0f:%.0f', start.at, start.first)
    for _, each in ipairs(start.permits) do text = text .. format(' %.0f', each) end
    call('RPUSH', KEYS[2], text)
  end
  call('PEXPIRE', KEYS[2], life)
end
`;

/** ARGV[2]: permits of each budget; ARGV[3]: the longest wait, as for a window. Returns the same, and then the budgets of others. */
export const startBudgets: Script = script(`${begin}
local permits, last = list(ARGV[2]), starts[#starts]
local at = max(moment, (last and last.at or 0) + 1, ready(permits, #starts))
local wait = at - moment
if ARGV[3] == '-1' or ARGV[3] ~= '' and wait > ARGV[3] + 0 then
  if isChanged then save() end
  local budget, remaining = budgets[1], 0
  if moment >= blocked and not (last and last.at > moment) then
    remaining = budget.limit
    if budget.isBucket then
      local there, from = level(1, #starts)
      remaining = floor(min(remaining, there + (moment - from) * budget.limit / budget.interval + 1e-9))
    else
      for _, start in ipairs(starts) do
        if start.at + budget.interval > moment then remaining = remaining - max(0, start.permits[1] or 0) end
      end
    end
  end
  return answer(0, wait, max(0, remaining))
end
starts[#starts + 1] = { at = at, first = at, permits = permits }
local reply = answer(1, wait, at)
callers = ARGV[1]
save()
return reply
`);

/** ARGV[2]: permits; ARGV[3]: the call's first turn. Returns 1 wait turn. */
export const againBudgets: Script = script(`${begin}
local permits, mine, k = list(ARGV[2]), ARGV[3] + 0, nil
for i, start in ipairs(starts) do
  if start.first == mine then k = i end
end
if not k and mine + longest <= moment and blocked <= moment then -- it is over by now
  if isChanged then save() end
  return { 1, 0, mine }
end
local turn = k and starts[k].at
if k then permits = starts[k].permits end
if k and turn <= moment and ready(permits, k - 1) <= turn then
  if isChanged then save() end
  return { 1, 0, mine }
end
if k then table.remove(starts, k) end
local ahead = #starts
while turn and ahead > 0 and starts[ahead].at > turn and starts[ahead].at > moment do ahead = ahead - 1 end
local at = max(moment, (starts[ahead] and starts[ahead].at or 0) + 1, ready(permits, ahead))
for i = ahead + 1, #starts do starts[i].at = starts[i].at + max(0, at - turn) end
table.insert(starts, ahead + 1, { at = at, first = mine, permits = permits })
save()
return { 1, at - moment, mine }
`);

/** ARGV[2]: first turn of the call. Returns 1, or 0 if there is nothing to give back any more. */
export const giveBackBudgets: Script = script(`${begin}
for i, start in ipairs(starts) do
  if start.first == ARGV[2] + 0 then
    table.remove(starts, i)
    save()
    return 1
  end
end
if isChanged then save() end
return 0
`);

/** ARGV[2] and ARGV[3]: starts of each budget to give back, to count; ARGV[4]: µs to block. Returns 1. */
export const changeBudgets: Script = script(`${begin}
local reward, penalty, block = list(ARGV[2]), list(ARGV[3]), ARGV[4] + 0
if block > 0 then blocked = max(blocked, moment + block) end
local made, changed, counts = 0, {}, false
while starts[made + 1] and starts[made + 1].at <= moment do made = made + 1 end
for i, budget in ipairs(budgets) do
  local left = reward[i]
  changed[i] = penalty[i]
  if budget.isBucket then
    changed[i] = changed[i] - left
    left = 0
  end
  for j = made, 1, -1 do
    if left <= 0 or starts[j].at + budget.interval <= moment then break end
    local taken = min(left, max(0, starts[j].permits[i] or 0))
    if taken > 0 then starts[j].permits[i] = starts[j].permits[i] - taken end
    left = left - taken
  end
  counts = counts or changed[i] ~= 0
end
if counts then table.insert(starts, made + 1, { at = moment, first = moment, permits = changed }) end
save()
return 1
`);
