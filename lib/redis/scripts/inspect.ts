/**
 * The scripts that look at a name, page by page, for display: between two pages holders and waiters come and go. Holders
 * whose lease has ended and waiters that are dead are left out, although their entries are still there. Invariants: no run
 * returns more than {@linkcode PAGE} holders and as many waiters; nothing is written.
 *
 * @module
 */
import { clock, type HolderScripts, type Script, script } from "./script.ts";

/** Holders, and waiters, in one answer. */
export const PAGE = 250;

/** Waiters in all. */
export const MOST_WAITERS = 1000;

/**
 * KEYS as of the state machine. ARGV: how many holders and waiters to skip. Returns now, time to live, fence, limit,
 * holders (id, end, fence, weight, since, owner, …), waiters (id, since, time until which it counts as alive, owner, …),
 * the number of all waiters, of them dead on this page, and 1 if there is another page.
 */
function inspectBy(holding: string): Script {
  return script(`${clock}
local from, holders, waiters, fence, limit, more = ARGV[1] + 0, {}, {}, 0, 0, 0
local function number(text)
  return text and #text < 17 and string.find(text, '^%d+$') and tonumber(text) or error('no number')
end
local function add(list, a, b, c, d)
  local n = #list
  list[n + 1], list[n + 2], list[n + 3], list[n + 4] = a, b, c, d
end
${holding}
local waiting, dead, ids, since, found = call('ZCARD', KEYS[2]), 0, {}, {}, {}
if from < ${MOST_WAITERS} then
  found = call('ZRANGE', KEYS[2], from, from + ${PAGE - 1}, 'WITHSCORES')
  if from + ${PAGE} < math.min(waiting, ${MOST_WAITERS}) then more = 1 end
end
for i = 1, #found, 2 do
  ids[#ids + 1] = found[i]
  since[#since + 1] = tonumber(found[i + 1])
end
if ids[1] then
  for i, waiter in ipairs(call('HMGET', KEYS[3], unpack(ids))) do
    local alive, owner = waiter and tonumber(sub(waiter, 1, 16)) or 0, waiter and string.match(waiter, '^%d+ %d+ (.*)$', 18)
    if alive > now and owner then
      add(waiters, ids[i], since[i], alive, owner)
    else
      dead = dead + 1
    end
  end
end
return { now, call('PTTL', KEYS[1]), fence, limit, holders, waiters, waiting, dead, more }
`);
}

const inspectMutex = inspectBy(`
local v = call('GET', KEYS[1])
limit = 1
if v then
  fence = number(sub(v, 1, 16))
  local ends = number(sub(v, 17, 32))
  if ends > now then holders = { sub(v, 34, 54), ends, fence, 1, number(sub(v, 76, 91)), sub(v, 92) } end
end
`);

const inspectWeighted = inspectBy(`
local s = call('HMGET', KEYS[1], 'f', 'l')
fence, limit = number(s[1] or '0'), number(s[2] or '0')
local held = {}
local leases = call('ZRANGE', KEYS[4], from, from + ${PAGE - 1}, 'WITHSCORES')
for i = 1, #leases, 2 do held[#held + 1] = 'h' .. leases[i] end
if held[1] then
  for i, hold in ipairs(call('HMGET', KEYS[1], unpack(held))) do
    local ends = number(leases[i * 2])
    if hold and ends > now then
      local weight, owner = string.match(hold, '^(%d+) (.*)$', 33)
      add(holders, sub(held[i], 2), ends, number(sub(hold, 1, 16)), number(weight))
      holders[#holders + 1], holders[#holders + 2] = number(sub(hold, 17, 32)), owner
    end
  end
  if #held == ${PAGE} then more = 1 end
end
`);

export const inspect: HolderScripts = { one: inspectMutex, weighted: inspectWeighted };
