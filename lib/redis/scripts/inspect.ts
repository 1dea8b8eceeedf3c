/**
 * The scripts that read a name page by page, for display: holders and waiters come and go between two pages. Expired
 * holders and waiters are left out, even if their entries still exist. Invariants: no run returns many more than
 * {@linkcode PAGE} holders and as many waiters; nothing is written.
 *
 * @module
 */
import { IDLE, memberOf } from "./layout.ts";
import { clock, type HolderScripts, type Script, script } from "./script.ts";

/** Maximum number of holders, and of waiters, in one answer. */
export const PAGE = 250;

/** Maximum number of waiters in all. */
export const MOST_WAITERS = 1000;

/**
 * KEYS as of the layout. ARGV: how many waiters to skip, and the cursor of the holders ("" after the last). Returns now
 * (µs), time to live, fence, holders (id, ms left, fence, weight, owner, …), waiters (id, since in µs, ms left, owner,
 * …), the number of all waiters, the number of dead ones on this page, the next cursor, and 1 if there is another page.
 */
function inspectBy(holding: string): Script {
  return script(`${clock}
local from, cursor, holders, waiters, fence = ARGV[1] + 0, ARGV[2], {}, {}, 0
local function number(text)
  return text and #text < 17 and string.find(text, '^%d+$') and tonumber(text) or error('no number')
end
local function add(list, ...)
  for _, item in ipairs({ ... }) do list[#list + 1] = item end
end
${holding}
local waiting, dead, found, unfinished = call('ZCARD', KEYS[3]), 0, {}, cursor ~= '' and 1 or 0
if from < ${MOST_WAITERS} then
  found = call('ZRANGE', KEYS[3], from, from + ${PAGE - 1}, 'WITHSCORES')
  if from + ${PAGE} < math.min(waiting, ${MOST_WAITERS}) then unfinished = 1 end
end
local members = {}
for i = 1, #found, 2 do members[#members + 1] = found[i] end
if members[1] then
  for i, ends in ipairs(call('ZMSCORE', KEYS[2], unpack(members))) do
    local left, owner = (tonumber(ends or 0) - now) / 1000, string.match(members[i], '^ %d+ %d+ (.*)$', 22)
    if left > 0 and left < 9007199254740 and owner then
      add(waiters, sub(members[i], 1, 21), tonumber(found[i * 2]), math.ceil(left), owner)
    else
      dead = dead + 1
    end
  end
end
return { now, call('PTTL', KEYS[1]), fence, holders, waiters, waiting, dead, cursor, unfinished }
`);
}

const inspectLock = inspectBy(`
local v = call('GET', KEYS[1])
if v then
  fence = number(sub(v, 1, 16))
  local left = call('PTTL', KEYS[1]) - ${IDLE}
  if sub(v, 18, 38) ~= '${" ".repeat(21)}' and left > 0 then
    holders = { sub(v, 18, 38), left, fence, 1, number(sub(v, 60, 67)) and sub(v, 68) }
  end
end
cursor = ''
`);

const inspectWeighted = inspectBy(`
fence = number(call('HGET', KEYS[1], 'f') or '0')
if cursor ~= '' then
  local page = call('HSCAN', KEYS[1], cursor, 'COUNT', ${PAGE})
  local members, holds = {}, {}
  cursor = page[1] ~= '0' and page[1] or ''
  for i = 1, #page[2], 2 do
    local id, hold = page[2][i], page[2][i + 1]
    if #id == 21 then members[#members + 1], holds[#holds + 1] = ${memberOf("id", "hold")}, hold end
  end
  if members[1] then
    for i, ends in ipairs(call('ZMSCORE', KEYS[2], unpack(members))) do
      local left = (tonumber(ends or 0) - now) / 1000
      if left ~= left or left > 9007199254740 then error('no time') end
      if left > 0 then
        local weight, owner = string.match(holds[i], '^ (%d+) %d+ (.*)$', 25)
        add(holders, sub(members[i], 1, 21), math.ceil(left), number(sub(holds[i], 1, 16)), number(weight), owner)
      end
    end
  end
end
`);

export const inspect: HolderScripts = { one: inspectLock, weighted: inspectWeighted };
