/**
 * How a rate limit is stored, with windows, token buckets, or several of both, and the Lua that its scripts share. All is
 * MessagePack:
 *
 * - KEYS[1], the head, is the state after the last start: the latest moment, the correction of the server's clock, the
 *   end of a block, the longest interval in use, the turn of the last start, the latest turn that was given back, whether
 *   the last start is in the list, the budgets of the last caller, and the levels.
 * - KEYS[2], the list, has an entry for each call, in the order of turns: its turn, and the levels after it. If the entry
 *   is known by another number than its turn, as after a move, that number follows a turn below 0.
 *
 * Levels are three numbers for each budget, by its place in the caller's list: the count of all starts; what is missing
 * in a bucket, and since when. So a budget's level is known after each call, and a start reads the head, and one entry
 * for each of its windows. Only calls that sleep, or that have a window, need an entry.
 *
 * Invariants: a call's turn is the first moment at which its budgets allow it, given the level before it; turns and
 * counts grow along the list; the list begins with an entry that is over, or with the first call. Time goes on with each
 * command, even if the server's clock does not. Callers share the budgets that they have at the same place, and need not
 * agree: each one is judged by its own numbers. A window also counts starts of callers with a bucket at its place.
 *
 * Moments and intervals are µs.
 *
 * @module
 */

/** One start in LOOK checks for entries to drop. */
export const LOOK = 8;

/** A call that was moved behind others is looked for behind this number of them. */
const MOVED = 200;

/** Beyond this count, which is still exact, a start waits until all others are over. */
export const MOST_COUNTED = 2 ** 52;

/** The longest time in µs, a century, that a penalty empties a bucket for: sums with the present time are exact. */
export const MOST_MISSING = 100 * 365 * 24 * 3600 * 1e6;

/** Numbers in place of the one by which a call is known: a change of the levels, and a start that was given back. */
export const CHANGE = -1;
export const VOID = -2;

const fill = `for j = #levels + 1, width do levels[j] = 0 end`;

/** ARGV[1]: the caller's budgets, such as "20 1000000 5 -60000000": limits and intervals; those of buckets below 0. */
export const begin = `
local call, ceil, floor, min, max = redis.call, math.ceil, math.floor, math.min, math.max
local encode, decode = cmsgpack.pack, cmsgpack.unpack
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local seen, shift, blocked, longest, last, back, isListed, callers, levels = 0, 0, 0, 0, 0, 0, true, nil, {}
local head = call('GET', KEYS[1])
if head then
  seen, shift, blocked, longest, last, back, isListed, callers, levels = decode(head)
  if type(callers) ~= 'string' or type(levels) ~= 'table' then error('the head of a rate limit has another shape') end
else
  call('LTRIM', KEYS[2], '1', '0') -- starts without a head have no time
end
if seen + 1 - now > shift then shift = seen + 1 - now end -- the server's clock stands still, or was set back
local moment = now + shift
local isChanged = false -- even if the call takes nothing
local limits, spans, permits, n, hasWindow = {}, {}, {}, 0, false
local to = 0
repeat
  local limit, span, _
  n, _, to, limit, span = n + 1, string.find(ARGV[1], '^ ?(%d+) (-?%d+)', to + 1)
  limits[n], spans[n], permits[n] = limit + 0, span + 0, (ARGV[2 + n] or 0) + 0
  hasWindow = hasWindow or spans[n] > 0
  local long = spans[n] > 0 and spans[n] or -spans[n]
  if long > longest then longest, isChanged = long, head end
until to == #ARGV[1]
local other = callers ~= ARGV[1] and callers or nil
local width = n > 0 and spans[n] > 0 and 3 * n - 2 or 3 * n
${fill}
`;

// These are inserted where they are used: creating a function takes longer than a short command.

/** An expression: what was missing in the i-th bucket with these levels. */
export const missing = (levels: string): string =>
  `min(${levels}[3 * i - 1] or 0, limits[i] + ${MOST_MISSING} * limits[i] / -spans[i])`;

/** When the i-th bucket has p permits. */
export const filled = (levels: string): string =>
  `(${levels}[3 * i] or 0) + ceil((${missing(levels)} + p - limits[i]) * -spans[i] / limits[i])`;

/** What is missing in the i-th bucket now. */
export const missingAt = (at: string): string =>
  `max(0, ${missing("levels")} - (${at} - (levels[3 * i] or 0)) * limits[i] / -spans[i])`;

/** Counts `starts` of each budget, below 0 for a reward of a bucket; `former`: the levels of other callers' buckets. */
export const take = `
  for i = 1, #starts do
    local j, p = 3 * i - 2, starts[i]
    levels[j] = (levels[j] or 0) + (p > 0 and p or 0)
    if spans[i] and spans[i] < 0 then
      if p ~= 0 then levels[j + 1], levels[j + 2] = max(0, ${missingAt("at")} + p), at end
    elseif former then
      levels[j + 1], levels[j + 2] = former[j + 1] or levels[j + 1], former[j + 2] or levels[j + 2]
    end
  end
  last = at
`;

export const save = `
  local ends = (last > moment and last or moment) + longest
  if blocked > ends then ends = blocked end
  for i = 1, n do
    if spans[i] < 0 and levels[3 * i - 1] > limits[i] then
      ends = max(ends, levels[3 * i] + ${missing("levels")} * -spans[i] / limits[i])
    end
  end
  local life = ceil((ends - moment) / 1000)
  local state = encode(moment, shift, blocked, longest, last, back, isListed, callers or ARGV[1], levels)
  call('SET', KEYS[1], state, 'PX', life)
  if isListed then call('PEXPIRE', KEYS[2], life) end
`;

export const functions = `
local function read(text)
  local all = { decode(text) }
  local turn = table.remove(all, 1)
  local first = turn < 0 and table.remove(all, 1) or turn
  turn = max(turn, -turn)
  if not (turn > 1e12 and all[1] and first) then error('no start of a rate limit') end
  return { turn = turn, first = first, levels = all }
end
-- The k-th entry from the end, or the first one for 0.
local function entry(k)
  local text = call('LINDEX', KEYS[2], k == 0 and '0' or -k)
  return text and read(text)
end
-- The k of the earliest entry for which \`is\` holds; it holds for all later ones, too, and for the one with k = low.
local function earliest(low, is)
  local high = call('LLEN', KEYS[2])
  while low < high do
    local middle = floor((low + high + 1) / 2)
    if is(entry(middle)) then low = middle else high = middle - 1 end
  end
  return low
end
-- The number of entries whose turns are after this moment.
local function after(time) return earliest(0, function(each) return each.turn > time end) end

local added = {}
local function flush()
  for i = 1, #added, 1000 do call('RPUSH', KEYS[2], unpack(added, i, min(i + 999, #added))) end
  added = {}
end
local function push(turn, first)
  if first == turn then added[#added + 1] = encode(turn, unpack(levels))
  else added[#added + 1] = encode(-turn, first, unpack(levels)) end
  isListed = true
end
local function list()
  if isListed then return end
  push(last, ${CHANGE})
  flush()
  isChanged = true
end
local function take(at, starts, former)
${take}
end
-- When the caller's budgets allow these starts behind all entries but the last k, with the levels at that place; or
-- sooner, if that is at \`by\` or before.
local function ready(before, k, starts, by)
  local at = blocked
  for i = 1, n do
    local p, j, limit, span = min(starts[i] or 0, limits[i]), 3 * i - 2, limits[i], spans[i]
    local total = before[j] or 0
    if p > 0 and span < 0 then
      at = max(at, ${filled("before")})
    elseif p > 0 and total + p > limit then
      local function is(each) return (each.levels[j] or 0) >= total + p - limit end
      local gate = entry(k + floor(limit / p)) or entry(0) -- if all calls have as many starts as this one
      if gate and not (is(gate) and gate.turn + span <= by) then
        gate = entry(earliest(k + 1, is))
        if gate.turn + longest > moment then at = max(at, gate.turn + span) end -- else it may not be the right one
      end
      if total > ${MOST_COUNTED} then at = max(at, last + longest) end
    end
  end
  return at
end
-- Drops entries that are over, but for one.
local function trim()
  local text = call('LINDEX', KEYS[2], '${LOOK - 1}')
  if text and read(text).turn + longest <= moment then
    call('LTRIM', KEYS[2], -after(moment - longest) - 1, '-1')
  end
end
local function save()
  flush()
${save}
end
`;

export const edit = `
-- Takes the last k entries off the list, with the starts of each.
local function cut(k)
  if k == 0 then return {} end
  local before = entry(k + 1)
  local calls, texts = {}, call('LRANGE', KEYS[2], -k, '-1')
  call('LTRIM', KEYS[2], '0', -k - 1)
  last, levels = before and before.turn or 0, before and before.levels or {}
  ${fill}
  local previous = levels
  for x, text in ipairs(texts) do
    local each = read(text)
    each.starts = {}
    for j = 1, #each.levels, 3 do each.starts[(j + 2) / 3] = each.levels[j] - (previous[j] or 0) end
    calls[x], previous = each, each.levels
  end
  return calls
end
-- Puts calls from the x-th on back, later by \`delay\`, while \`is\` holds; returns the x of the next.
local function put(calls, x, delay, is)
  while calls[x] and (not is or is(calls[x])) do
    take(calls[x].turn + delay, calls[x].starts, calls[x].levels)
    push(last, calls[x].first)
    x = x + 1
  end
  return x
end
`;

export const search = `
-- The k of the call with this number, unless it was given back or is over.
local function find(mine)
  local k = 1 + earliest(0, function(each) return (each.first > 0 and each.first or each.turn) > mine end)
  local each = entry(k)
  if not each or each.first ~= mine then -- perhaps it was moved behind calls that came later
    local later = after(mine - 1)
    for x = later, max(1, later - ${MOVED}), -1 do
      k, each = x, entry(x)
      if each.first == mine then break end
    end
  end
  if not each or each.first ~= mine or each.turn + longest <= moment then return nil end
  if not isListed then
    list()
    k = k + 1
  end
  return k
end
`;
