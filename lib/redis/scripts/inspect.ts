/**
 * The scripts that look at a name. Invariant: no run returns more than {@linkcode PAGE} holders and as many waiters.
 *
 * @module
 */
import { prelude, script } from "./script.ts";
import type { Script } from "./script.ts";

/** Holders in one answer, and waiters in all. */
export const PAGE = 1000;

/**
 * KEYS as of the state machine. ARGV: how many holders to skip. Returns now, time to live, fence, limit, holders (id, end,
 * fence, weight, since, owner, …), waiters (id, since, time until which it counts as alive, owner, …), the number of all
 * waiters, and 1 if there are more holders.
 */
function inspect(holding: string): Script {
  return script(`${prelude}
local holders, waiters, fence, limit, more = {}, {}, 0, 0, 0
local function add(list, ...)
  for _, item in ipairs({ ... }) do list[#list + 1] = item end
end
${holding}
local ids, fields, since = call('ZRANGE', KEYS[2], 0, ${PAGE - 1}, 'WITHSCORES'), {}, {}
local waiting = call('ZCARD', KEYS[2])
for i = 1, #ids, 2 do
  fields[#fields + 1] = ids[i]
  since[#since + 1] = tonumber(ids[i + 1])
end
if fields[1] then
  for i, waiter in ipairs(call('HMGET', KEYS[3], unpack(fields))) do
    local alive = waiter and tonumber(sub(waiter, 1, 16)) or 0
    if alive > now then
      add(waiters, fields[i], since[i], alive, string.match(waiter, '^%d+ %d+ (.*)$', 18))
    else
      waiting = waiting - 1
    end
  end
end
return { now, call('PTTL', KEYS[1]), fence, limit, holders, waiters, waiting, more }
`);
}

export const inspectMutex: Script = inspect(`
local v = call('GET', KEYS[1])
limit = 1
if v then
  fence = tonumber(sub(v, 1, 16))
  local ends = tonumber(sub(v, 17, 32))
  if ends > now then add(holders, sub(v, 34, 54), ends, fence, 1, tonumber(sub(v, 76, 91)), sub(v, 92)) end
end
`);

export const inspectWeighted: Script = inspect(`
local s = call('HMGET', KEYS[1], 'f', 'l')
fence, limit = tonumber(s[1] or 0), tonumber(s[2] or 0)
local from, found = ARGV[1] + 0, {}
local leases = call('ZRANGE', KEYS[4], from, from + ${PAGE - 1}, 'WITHSCORES')
for i = 1, #leases, 2 do found[#found + 1] = 'h' .. leases[i] end
if found[1] then
  for i, hold in ipairs(call('HMGET', KEYS[1], unpack(found))) do
    local ends = tonumber(leases[i * 2])
    if hold and ends > now then
      local weight, owner = string.match(hold, '^(%d+) (.*)$', 33)
      add(holders, sub(found[i], 2), ends, tonumber(sub(hold, 1, 16)), tonumber(weight), tonumber(sub(hold, 17, 32)), owner)
    end
  end
  if #found == ${PAGE} then more = 1 end
end
`);
