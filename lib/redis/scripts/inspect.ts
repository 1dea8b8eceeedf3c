/**
 * The script that reads a name for display: the waiters at once, and the holders page by page, as they come and go
 * between two pages. Expired holders and waiters are left out, even if their entries still exist. Invariants: no run
 * returns more than {@linkcode MOST_WAITERS} waiters and many more than {@linkcode PAGE} holders; nothing is written.
 *
 * @module
 */
import { IDLE, memberOf, NONE } from "./layout.ts";
import { clock, type Script, script } from "./script.ts";

/** Holders in one answer. */
const PAGE = 250;

/** Maximum number of waiters. */
const MOST_WAITERS = 1000;

/**
 * KEYS as of the layout. ARGV: the cursor of the holders, 0 for the first page; m for a lock or w. Returns now (µs),
 * time to live, fence, holders (id, ms left, fence, weight, owner, …), on the first page waiters (id, since in µs, ms
 * left, owner, …) and their number, without the dead ones found, and the next cursor ("" after the last page).
 */
export const inspect: Script = script(`${clock}
local cursor, holders, waiters, fence, entries, members = ARGV[1], {}, {}, 0, {}, {}
local function number(text)
  return text and #text < 17 and string.find(text, '^%d+$') and tonumber(text) or error('no number')
end
local function add(list, ...)
  for _, item in ipairs({ ... }) do list[#list + 1] = item end
end
local waiting = call('ZCARD', KEYS[3])
if cursor == '0' then entries = call('ZRANGE', KEYS[3], '0', '${MOST_WAITERS - 1}', 'WITHSCORES') end
for i = 1, #entries, 2 do members[#members + 1] = entries[i] end
if members[1] then
  for i, ends in ipairs(call('ZMSCORE', KEYS[2], unpack(members))) do
    local left, owner = (tonumber(ends or 0) - now) / 1000, string.match(members[i], '^ %d+ %d+ (.*)$', 22)
    if left > 0 and left < 9007199254740 and owner then
      add(waiters, sub(members[i], 1, 21), tonumber(entries[i * 2]), math.ceil(left), owner)
    else
      waiting = waiting - 1
    end
  end
end
if ARGV[2] == 'm' then
  local v = call('GET', KEYS[1])
  if v then
    fence = number(sub(v, 1, 16))
    local left = call('PTTL', KEYS[1]) - ${IDLE}
    if sub(v, 18, 38) ~= '${NONE}' and left > 0 then
      holders = { sub(v, 18, 38), left, fence, 1, number(sub(v, 60, 67)) and sub(v, 68) }
    end
  end
  cursor = ''
else
  fence = number(call('HGET', KEYS[1], 'f') or '0')
  local page = call('HSCAN', KEYS[1], cursor, 'COUNT', ${PAGE})
  local ids, holds = {}, {}
  cursor = page[1] ~= '0' and page[1] or ''
  for i = 1, #page[2], 2 do
    local id, hold = page[2][i], page[2][i + 1]
    if #id == 21 then ids[#ids + 1], holds[#holds + 1] = ${memberOf("id", "hold")}, hold end
  end
  if ids[1] then
    for i, ends in ipairs(call('ZMSCORE', KEYS[2], unpack(ids))) do
      local left = (tonumber(ends or 0) - now) / 1000
      if left ~= left or left > 9007199254740 then error('no time') end
      if left > 0 then
        local weight, owner = string.match(holds[i], '^ (%d+) %d+ (.*)$', 25)
        add(holders, sub(ids[i], 1, 21), math.ceil(left), number(sub(holds[i], 1, 16)), number(weight), owner)
      end
    end
  end
end
return { now, call('PTTL', KEYS[1]), fence, holders, waiters, waiting, cursor }
`);
