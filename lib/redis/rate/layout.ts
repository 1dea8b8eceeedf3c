/**
 * How a rate limit is stored, with windows, token buckets, or several of both, and the Lua that its scripts share. All
 * is MessagePack:
 *
 * - KEYS[1], the head, is the state after the last start, in this order: when it is over (`overAt`), the end of the
 *   keys' lives (`keysEnd`), the latest moment (`latest`), the correction of the server's clock (`clockShift`), the end
 *   of a block (`blockEnd`), the longest interval in use (`maxSpan`), the turn of the last start (`lastTurn`), the
 *   latest number that was given back (`lastBack`), whether the last start is in the list (`isListed`), the budgets of
 *   the last caller (`lastCaller`), and the levels.
 * - KEYS[2], the list, has an entry for each call, in the order of turns: its turn, and the levels after it. If the
 *   entry is known by another number than its turn, as after a move, that number follows a turn below 0.
 *
 * Levels are three numbers for each budget, by its place in the caller's list: the count of all starts; what is missing
 * in a bucket, and since when. So a budget's level is known after each call, and a start reads the head, and one entry
 * for each of its windows. Only calls that sleep, or that have a window, need an entry.
 *
 * Invariants: a call's turn is the first moment at which its budgets allow it, given the level before it; turns and
 * counts grow along the list; the list begins with an entry that is over, or with the first call. Time goes on with
 * each command, even if the server's clock does not. Callers share the budgets that they have at the same place, and
 * need not agree: each one is judged by its own numbers. A window also counts starts of callers with a bucket at its
 * place.
 *
 * Moments and intervals are µs. In the Lua, i counts budgets, j = 3 * i - 2 is the place of the budget's count among
 * the levels, p is the permits of one budget, k counts entries from the end of the list, and x from the start of a part
 * of it.
 *
 * @module
 */
import { bucketOf } from "./bucket.ts";

/** Entries that are over are dropped once there are so many. */
export const BATCH = 8;

/** A call that was moved behind others is looked for behind this number of them. */
const MOVED = 200;

/** The number of moved calls whose turns are computed. Those behind them follow when one of them asks too early. */
export const MOST_PLACED = 1000;

/** Beyond this count, which is still exact, a start waits until all others are over. */
export const MOST_COUNTED = 2 ** 52;

/** The number of an entry that is no call but a change of the levels. */
export const CHANGE = -1;
/** The number of an entry whose call was cancelled, and whose start was given back. */
export const VOID = -2;

/** The head, but for the levels. */
const HEAD = "overAt, keysEnd, latest, clockShift, blockEnd, maxSpan, lastTurn, lastBack, isListed, lastCaller";
const FIRST_LEVELS = "count, missing, since, level4";

/**
 * Reads the head, and sets what it has. The first four levels are count, missing and since, those of the first budget,
 * and level4, which is set only if there is a second one. Sets now, the present time of the limit.
 */
export const readHeader = `
local call, ceil, floor, min, max = redis.call, math.ceil, math.floor, math.min, math.max
local encode, decode = cmsgpack.pack, cmsgpack.unpack
local time = call('TIME')
local serverTime = time[1] * 1000000 + time[2]
local ${HEAD}, ${FIRST_LEVELS}
local head = call('GET', KEYS[1])
if head then
  ${HEAD}, ${FIRST_LEVELS} = decode(head)
  if type(lastCaller) ~= 'string' then error('the head of a rate limit has another shape') end
end
if not head or overAt <= serverTime then
  head = nil
  ${HEAD} = 0, 0, 0, 0, 0, 0, 0, 0, true, nil
  ${FIRST_LEVELS} = nil, nil, nil, nil
  if call('LLEN', KEYS[2]) > 0 then call('LTRIM', KEYS[2], '1', '0') end -- starts without a head have no time
end
clockShift = max(clockShift, latest + 1 - serverTime) -- the server's clock stands still, or was set back
local now = serverTime + clockShift
`;

/** Writes the head. Reads what `readHeader` sets; life, for which the data counts, in ms; and levels. */
export const writeHeader = `
  overAt = serverTime + life * 1000
  local isKept = keysEnd >= overAt and keysEnd <= serverTime + life * 1250
  if not isKept then -- an eighth longer, so that few starts set it
    life = floor(life * 9 / 8)
    keysEnd = serverTime + life * 1000
  end
  latest, lastCaller = now, lastCaller or ARGV[1]
  local state = encode(${HEAD}, unpack(levels))
  if isKept then
    call('SET', KEYS[1], state, 'KEEPTTL')
  else
    call('SET', KEYS[1], state, 'PX', life)
    if isListed then call('PEXPIRE', KEYS[2], life) end
  end
`;

/** Adds what is missing of the levels. Reads width, the number of levels of the caller's budgets. */
const fillLevels = `for j = #levels + 1, width do levels[j] = 0 end`;

/**
 * ARGV[1]: the caller's limits and intervals, those of buckets below 0, such as [[20,5],[1000000,-60000000]]. ARGV[3]
 * and further: permits of each budget. Reads what `readHeader` sets. Sets levels, limits, spans, permits, and their
 * number n; whether there is a window; isChanged, whether to write the head even if the call takes nothing; and other,
 * the budgets of the last caller if they differ.
 */
export const readBudgets = `
local levels = level4 and { select(11, decode(head)) } or { count, missing, since }
local limits, spans = unpack(cjson.decode(ARGV[1]))
local n, permits, hasWindow = #limits, {}, false
local isChanged = false -- even if the call takes nothing
for i = 1, n do
  permits[i] = (ARGV[2 + i] or 0) + 0
  hasWindow = hasWindow or spans[i] > 0
  local long = spans[i] > 0 and spans[i] or -spans[i]
  if long > maxSpan then maxSpan, isChanged = long, head end
end
local other = lastCaller ~= ARGV[1] and lastCaller or nil
local width = spans[n] > 0 and 3 * n - 2 or 3 * n
${fillLevels}
`;

/**
 * Counts `starts` of each budget at the moment `at`, below 0 for a reward of a bucket. `former`: the levels of other
 * callers' buckets. `spans[i]` is below 0 for a bucket, and nil for a budget that only other callers have.
 */
export const countStarts = `
  for i = 1, #starts do
    local j, p = 3 * i - 2, starts[i]
    levels[j] = (levels[j] or 0) + (p > 0 and p or 0)
    if spans[i] and spans[i] < 0 then
      if p ~= 0 then levels[j + 1], levels[j + 2] = ${bucketOf("levels").missingLua("at")} + p, at end
    elseif former then
      levels[j + 1], levels[j + 2] = former[j + 1] or levels[j + 1], former[j + 2] or levels[j + 2]
    end
  end
  lastTurn = at
`;

/**
 * Functions. They use what `readHeader` and `readBudgets` set.
 *
 * - `entry` returns the k-th entry from the end.
 * - `earliest` returns the k of the earliest entry for which `test` holds; it holds for all later ones, too, and for
 *   the one with k = low. `after` returns the number of entries whose turns are after a moment.
 * - `add` counts starts, with an entry that is known by `number`, or without one. `listLast` adds the entry that the
 *   last start has none of. `push` keeps an entry for `flush`, which appends those that were kept.
 * - `save` drops what is over, and writes the head.
 * - `ready` returns when the caller's budgets allow these starts behind all entries but the last k, with the levels at
 *   that place; or sooner, if that is at `by` or before.
 */
export const entryFunctions = `
local function read(text)
  local all = { decode(text) }
  local turn = table.remove(all, 1)
  local number = turn < 0 and table.remove(all, 1) or turn
  turn = max(turn, -turn)
  if not (turn > 1e12 and all[1] and number) then error('no start of a rate limit') end
  return { turn = turn, number = number, levels = all }
end
local newEntries = {}
local function entry(k)
  local text = newEntries[#newEntries + 1 - k] or call('LINDEX', KEYS[2], #newEntries - k)
  return text and read(text)
end
local function earliest(low, test, high)
  high = high or call('LLEN', KEYS[2]) + #newEntries
  local step = 1 -- it is often close
  while low < high do
    local middle = min(low + step, floor((low + high + 1) / 2))
    if test(entry(middle)) then low, step = middle, 2 * step else high = middle - 1 end
  end
  return low
end
local function after(time) return earliest(0, function(each) return each.turn > time end) end

local function flush()
  for i = 1, #newEntries, 1000 do
    local j = min(i + 999, #newEntries)
    if call('RPUSH', KEYS[2], unpack(newEntries, i, j)) == j then keysEnd = 0 end -- the list is new
  end
  newEntries = {}
end
local function push(turn, number)
  if not isListed then isListed, keysEnd = true, 0 end
  newEntries[#newEntries + 1] = number == turn and encode(turn, unpack(levels)) or encode(-turn, number, unpack(levels))
end
local function listLast()
  if isListed then return end
  push(lastTurn, ${CHANGE})
  flush()
  isChanged = true
end
local function add(at, starts, number, former)
${countStarts}
  if number then push(at, number) else isListed = false end
end
local function ready(before, k, starts, by)
  local readyAt = blockEnd
  for i = 1, n do
    local p, j, limit, span = min(starts[i] or 0, limits[i]), 3 * i - 2, limits[i], spans[i]
    local total = before[j] or 0
    if p > 0 and span < 0 then
      readyAt = max(readyAt, ${bucketOf("before").filled})
    elseif p > 0 and total + p > limit then
      local function test(each) return (each.levels[j] or 0) >= total + p - limit end
      local guess = k + floor(limit / p) -- if all calls have as many starts as this one
      local gate = entry(guess)
      local isGate = gate and test(gate)
      if not isGate or gate.turn + span > by then
        gate = entry(earliest(isGate and guess or k + 1, test, gate and not isGate and guess))
        if gate and gate.turn + maxSpan > now then readyAt = max(readyAt, gate.turn + span) end
      end
      if total > ${MOST_COUNTED} then readyAt = max(readyAt, lastTurn + maxSpan) end
    end
  end
  return readyAt
end
local function save()
  flush()
  local text = isListed and call('LINDEX', KEYS[2], '${BATCH - 1}')
  if text and read(text).turn + maxSpan <= now then -- all that is over goes, but for one
    call('LTRIM', KEYS[2], -after(now - maxSpan) - 1, '-1')
  end
  local ends = max(blockEnd, max(lastTurn, now) + maxSpan)
  for i = 1, n do
    if spans[i] < 0 and levels[3 * i - 1] > limits[i] then
      ends = max(ends, levels[3 * i] + ${bucketOf("levels").missing} * -spans[i] / limits[i])
    end
  end
  local life = ceil((ends - now) / 1000)
${writeHeader}
end
`;

/**
 * Uses what `entryFunctions` sets. `cut` takes the last k entries off the list, and returns them with the starts of
 * each. `putBack` adds calls from the x-th on again while `test` holds, and returns the x of the next. With a `most`
 * above 0, each call gets the first turn that the budgets and the calls ahead allow, later than its last one by at most
 * `most`. The budgets of its own caller may be larger, so it is moved by at most an interval more than the call ahead.
 * Behind many calls, the rest is moved by as much as the one of them that was moved least.
 */
export const editFunctions = `
local function cut(k)
  if k == 0 then return {} end
  local before = entry(k + 1)
  local calls, texts = {}, call('LRANGE', KEYS[2], -k, '-1')
  call('LTRIM', KEYS[2], '0', -k - 1)
  lastTurn, levels = before and before.turn or 0, before and before.levels or {}
  ${fillLevels}
  local previous = levels
  for x, text in ipairs(texts) do
    local each = read(text)
    each.starts = {}
    for i = 1, ceil(#each.levels / 3) do
      local at, p = each.levels[3 * i] or 0, each.levels[3 * i - 2] - (previous[3 * i - 2] or 0)
      if p == 0 and (spans[i] or 0) < 0 and at > (previous[3 * i] or 0) then -- a reward, which is not counted
        p = each.levels[3 * i - 1] - ${bucketOf("previous").missingLua("at")}
      end
      each.starts[i] = p
    end
    calls[x], previous = each, each.levels
  end
  return calls
end
local function putBack(calls, x, most, test)
  local least, far = most, x + ${MOST_PLACED}
  while calls[x] and (not test or test(calls[x])) do
    local each, at = calls[x], calls[x].turn
    if most > 0 then
      at = max(at, lastTurn + 1, min(at + most, x < far and ready(levels, 0, each.starts, at) or at + least))
      least, most = min(least, at - each.turn), min(most, at - each.turn + maxSpan)
    end
    add(at, each.starts, each.number, each.levels)
    x = x + 1
  end
  return x
end
`;

/**
 * Uses what `entryFunctions` sets. `find` returns the k of the call with this number, unless it was given back or is
 * over.
 */
export const searchFunctions = `
local function find(number)
  local function isIt(each) return each and each.number == number and each.turn + maxSpan > now end
  local k = 1 + earliest(0, function(each) return (each.number > 0 and each.number or each.turn) > number end)
  local each = entry(k)
  if not isIt(each) then -- perhaps it was moved behind calls that came later
    local later = after(number - 1)
    for x = later, max(1, later - ${MOVED}), -1 do
      k, each = x, entry(x)
      if isIt(each) then break end
    end
  end
  if not isIt(each) then return nil end
  if not isListed then
    listLast()
    k = k + 1
  end
  return k
end
`;
