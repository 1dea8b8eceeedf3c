/**
 * The scripts of what several may hold at once: a fair semaphore whose holds have a weight. A read-write lock is one
 * too: a reader weighs 1, a writer everything. Invariants: the weights of the holders never add up to more than the
 * limit; whoever is first in line and fits is granted before anybody behind.
 *
 * The state is one hash: f the last fence, n the weight in use, e no later than the earliest end of a lease, x no
 * earlier than the latest, l the limit, r who gave back last, and h⟨id⟩ for each holder: end (16 digits), fence (16),
 * weight.
 *
 * @module
 */
import { greeting, line, prelude, script } from "./mutex.ts";
import type { Script } from "./mutex.ts";

/** More grants than this are left to the next run, so that no run blocks the server for long. */
const GRANTS_PER_RUN = 500;

const weighted = `${line}
local fence, used, first, upto, limit, last
local function load(id)
  local s = call('HMGET', KEYS[1], 'f', 'n', 'e', 'x', 'l', 'r', 'h' .. id)
  fence, used, first = tonumber(s[1]) or 0, tonumber(s[2]) or 0, tonumber(s[3]) or 0
  upto, limit, last = tonumber(s[4]) or 0, tonumber(s[5]), s[6]
  return s[7]
end

-- Nothing can have run out before the earliest end, so that is the only time to look at every holder.
local function purge()
  if used == 0 or first > now then return end
  local all = call('HGETALL', KEYS[1])
  used, first, upto = 0, 0, 0
  for i = 1, #all, 2 do
    if sub(all[i], 1, 1) == 'h' then
      local ends = tonumber(sub(all[i + 1], 1, 16))
      if ends <= now then
        call('HDEL', KEYS[1], all[i])
      else
        used = used + sub(all[i + 1], 33)
        if first == 0 or ends < first then first = ends end
        if ends > upto then upto = ends end
      end
    end
  end
end

local function grant(id, ms, weight)
  local ends = now + ms * 1000
  used = used + weight
  if first == 0 or ends < first then first = ends end
  if ends > upto then upto = ends end
  call('HSET', KEYS[1], 'h' .. id, n16(ends) .. n16(fence) .. weight)
end

-- Grants from the head of the line while it fits; answers whether the caller was among them, and whether to go on.
local function serve(me)
  local mine, granted = false, 0
  while granted < ${GRANTS_PER_RUN} do
    local id = call('ZRANGE', KEYS[2], 0, 0)[1]
    if not id then return mine, 0 end
    local alive, mode, ms, weight = known(id)
    if alive and used + weight > limit then return mine, 0 end -- letting small ones pass would starve this one
    leave(id)
    local token = after(fence)
    if alive and (id == me or told(id, mode, token)) then
      fence = token
      grant(id, ms, weight)
      granted = granted + 1
      mine = mine or id == me and token
    end
  end
  return mine, 1
end

local function save(retention)
  if used == 0 then first, upto = 0, 0 end
  call('HSET', KEYS[1], 'f', n16(fence), 'n', used, 'e', n16(first), 'x', n16(upto), 'l', limit, 'r', last or '')
  call('PEXPIRE', KEYS[1], atLeast(math.max(0, math.ceil((upto - now) / 1000)) + retention))
end
`;

/**
 * As {@linkcode acquireMutex}, with two more ARGV: weight, limit. Also answers -3 limit now: others who hold or wait
 * count with another limit.
 */
export const acquireWeighted: Script = script(`${prelude}${weighted}
local id, weight = ARGV[1], ARGV[9] + 0
local retention = ARGV[3] + 0
if ARGV[4] ~= '0' and now > tonumber(ARGV[4]) then return { -2, now } end
local own = load(id)
if own and tonumber(sub(own, 1, 16)) > now then -- asked again, or the message that told of the grant was lost
  local ends = math.max(tonumber(sub(own, 1, 16)), now + ARGV[2] * 1000) -- a late one must not shorten it
  if ends > upto then upto = ends end
  if ends < first then first = ends end
  call('PEXPIRE', KEYS[1], math.ceil((upto - now) / 1000) + retention)
  call('HSET', KEYS[1], 'h' .. id, n16(ends) .. sub(own, 17), 'x', n16(upto), 'e', n16(first))
  return { 1, tonumber(sub(own, 17, 32)), now }
end
if last == id then return { -2, now } end
purge()
local wanted = ARGV[10] + 0
local queued = call('EXISTS', KEYS[2]) == 1
if not limit or (used == 0 and not queued) then limit = wanted end
local mine, more, seq = false, 0, 0
if limit ~= wanted and queued then
  mine, more = serve(nil) -- the line may be made of the dead
  queued = call('EXISTS', KEYS[2]) == 1
  if used == 0 and not queued then limit = wanted end
end
if limit ~= wanted then
  save(retention)
  return { -3, limit, now }
end
if not queued and used + weight <= limit then
  fence = after(fence)
  grant(id, ARGV[2] + 0, weight)
  save(retention)
  return { 1, fence, now }
end
if ARGV[5] ~= 't' then seq = join(id, weight) end
mine, more = serve(id)
if not mine and ARGV[5] == 't' and used + weight <= limit and call('EXISTS', KEYS[2]) == 0 then
  fence = after(fence)
  mine = fence
  grant(id, ARGV[2] + 0, weight)
end
save(retention)
if mine then return { 1, mine, now } end
return { 0, now, seq, first }
`);

/**
 * As {@linkcode releaseMutex}; `more` is 1 when those in line are to be served by another run, which is called with
 * "serve" in place of "force" or "".
 */
export const releaseWeighted: Script = script(`${prelude}${greeting}
${weighted}
local id, retention = ARGV[1], ARGV[2] + 0
local own = load(id)
local code = 0
if own then
  call('HDEL', KEYS[1], 'h' .. id)
  used = used - sub(own, 33)
  if tonumber(sub(own, 1, 16)) > now then
    code = 1
    last = id
  end
elseif ARGV[3] == 'force' then
  first = now
  for _, field in ipairs(call('HKEYS', KEYS[1])) do
    if sub(field, 1, 1) == 'h' then
      call('HDEL', KEYS[1], field)
      code = 1
    end
  end
  used, last = 0, false
elseif last == id and ARGV[3] ~= 'serve' then
  return { 1, now, 0 } -- asked again after the answer was lost
else
  code = leave(id) * 2
  if code == 0 and ARGV[3] ~= 'serve' then return { code, now, 0 } end
end
if not limit then return { code, now, 0 } end
purge()
local _, more = serve(nil)
save(retention)
return { code, now, more }
`);

/** As {@linkcode inspectMutex}. */
export const inspectWeighted: Script = script(`${prelude}${line}
local holders, waiters, fence, limit = {}, {}, 0, 0
local all = call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local field, value = all[i], all[i + 1]
  if field == 'f' then fence = tonumber(value) end
  if field == 'l' then limit = tonumber(value) end
  if sub(field, 1, 1) == 'h' and tonumber(sub(value, 1, 16)) > now then
    for _, item in ipairs({ sub(field, 2), tonumber(sub(value, 1, 16)), tonumber(sub(value, 17, 32)), tonumber(sub(value, 33)) }) do
      holders[#holders + 1] = item
    end
  end
end
for _, id in ipairs(call('ZRANGE', KEYS[2], 0, -1)) do
  if known(id) then waiters[#waiters + 1] = id end
end
return { now, call('PTTL', KEYS[1]), fence, limit, holders, waiters }
`);
