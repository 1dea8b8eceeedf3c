/**
 * The scripts of a rate limit. KEYS[1] is a string: the latest time seen and the correction of the server's clock (µs), limit,
 * interval (µs), the number of the last call, and the numbers of calls that gave their starts back lately. KEYS[2] is a
 * list of starts, made or still to come, in order: each a number of 32 bits, which takes 6 bytes.
 *
 * - start: the turn of a call is now, or as soon as those ahead of it and the window let it; it takes its place there.
 *   A turn that comes too late for its caller is not taken.
 * - give back: the start of a caller that gave up goes; those behind it keep their turns, and later calls come sooner.
 *
 * Invariants: starts never decrease along the list; of any `limit` + 1 in a row, the last is one window after the first, or
 * later; time never goes back, also if the server's clock does.
 *
 * A start is stored in units of a part of the interval, modulo 2^32: all that are in the list lie within half of that
 * around now.
 *
 * @module
 */
import { clock, digits, type Script, script } from "../scripts/script.ts";

/** Numbers of calls that are remembered, so that a command that runs twice gives back once. */
const REMEMBERED = 32;

/** At most this many starts that are over are kept. One in LOOK calls for one start looks for them. */
const LOOK = 8;

/** ARGV[1] to ARGV[5]: limit, interval (µs), unit (µs), window (units), ms until nothing counts that starts now. */
const begin = `${clock}
local floor = math.floor
local head, unit, window = call('GET', KEYS[1]), ARGV[3] + 0, ARGV[4] + 0
local seen, shift, limit, interval, number, back = '0', '0', ARGV[1], ARGV[2], '0', ' '
if head then
  seen, shift, limit, interval, number, back = string.match(head, '^(%d+) (%d+) (%d+) (%d+) (%d+)( .*)$')
  if not back then error('the head of a rate limit has another shape') end
end
if limit ~= ARGV[1] or interval ~= ARGV[2] then return { -3, limit, interval } end
local moment = now + shift
if moment < seen + 0 then -- the server's clock was set back
  shift, moment = format('%.0f', shift + seen - moment), seen + 0
end
local units = floor(moment / unit)
-- Units from now to a stored start; less than 0 if it is past.
local function ahead(start)
  if start % 1 ~= 0 then error('no start of a rate limit') end -- also for what Lua takes for infinite, or no number
  local distance = (start + 2147483648 - units) % 4294967296
  return distance >= 2147483648 and distance - 4294967296 or distance
end
local function save(wait)
  ${digits}
  local life = wait == 0 and ARGV[5] or format('%.0f', math.ceil((wait + interval) / 1000))
  local state = n16(moment) .. ' ' .. shift .. ' ' .. limit .. ' ' .. interval .. ' ' .. number .. back
  call('SET', KEYS[1], state, 'PX', life)
  call('PEXPIRE', KEYS[2], life)
end
`;

/**
 * ARGV[6]: permits, index from the end of the list of the start that must be one window before, the longest wait in µs
 * ("" for any; -1 to take nothing), latest server time in µs (0: any). Returns
 * 1 now wait number start | 0 now wait (nothing taken) | -2 now (too late) | -3 limit interval (the others use these) |
 * -4 now (the queue is too long to be counted).
 */
export const start: Script = script(`${begin}
if ARGV[9] ~= '0' and now > ARGV[9] + 0 then return { -2, now } end
local permits, at = ARGV[6] + 0, 0
local last = call('LINDEX', KEYS[2], '-1')
if last then
  at = math.max(0, ahead(last)) -- nothing overtakes those that sleep until their turn
  local gate = call('LINDEX', KEYS[2], ARGV[7])
  if gate then at = math.max(at, ahead(gate) + window) end
end
local wait = at == 0 and 0 or (units + at) * unit - moment
if ARGV[8] ~= '' and wait > ARGV[8] + 0 then return { 0, now, wait } end
if at + window >= 2147483648 then return { -4, now } end
number = format('%.0f', number + 1)
local stored = format('%d', (units + at) % 4294967296 - 2147483648)
call('RPUSH', KEYS[2], stored)
local some = permits > 1 and {}
for i = 1, math.min(permits - 1, 1000) do some[i] = stored end
for left = permits - 1, 1, -1000 do
  call('RPUSH', KEYS[2], unpack(some, 1, math.min(left, 1000)))
end
if permits > 1 or number % ${LOOK} == 0 then
  local past, step, factor = 0, ${LOOK}, 2 -- steps that grow as long as they find no other start, and then shrink
  while step >= ${LOOK} do
    local old = call('LINDEX', KEYS[2], past + step - 1)
    if old and ahead(old) + window <= 0 then past = past + step else factor = 0.5 end
    step = step * factor
  end
  if past > 0 then call('LTRIM', KEYS[2], past, '-1') end
end
save(wait)
return { 1, now, wait, number, stored }
`);

/** ARGV[6]: permits, number and start of the call. Returns 1 now, or 0 now if there is nothing to give back any more. */
export const giveBack: Script = script(`${begin}
local mine = ' ' .. ARGV[7]
if not head or string.find(back, mine .. ' ', 1, true) then return { 0, now } end
call('LREM', KEYS[2], '-' .. ARGV[6], ARGV[8])
local last = call('LINDEX', KEYS[2], '-1')
back = mine .. back
local kept = {}
for one in string.gmatch(back, '%d+') do
  if #kept < ${REMEMBERED} then kept[#kept + 1] = one end
end
back = ' ' .. table.concat(kept, ' ') .. ' '
save(last and math.max(0, ahead(last)) * unit or 0)
return { 1, now }
`);
