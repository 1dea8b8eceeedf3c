/**
 * The holder of a mutex, in Lua: one string, so that a free lock costs a GET and a SET. Fence (16 digits), end of the
 * lease (16), "+" if there may be waiters or "-", holder (21, blank when free), the one that released last (21), start
 * of the lease (16), owner. Invariant: used == 1 implies that the lease has not ended.
 *
 * @module
 */
import type { Holding } from "./holding.ts";
import { after, digits, lives } from "./script.ts";

/** No lease; no lease and no waiters; no holder. */
export const ZERO = "0".repeat(16);
const FREE = `${ZERO}-`;
export const NONE: string = " ".repeat(21);

const WRITE = "call('SET', KEYS[1], text, 'PX', life)";
/** Under maxmemory a write that cannot grow makes room for one that only might. */
const WRITE_WHEN_FULL = `if redis.p${WRITE}.err then
  keep(KEYS[1], life, true)
  ${WRITE}
end`;

const read = `${lives}
local NONE, ZERO = '${NONE}', '${ZERO}'
local fence, first, used, limit, more, dirty = 0, 0, 0, 1, 0, false
local queued, id, last, tail = nil, NONE, NONE, ZERO
if v then
  local _, numbers = string.find(v, '^%d+[+-]')
  if numbers ~= 33 or #v < 75 then error('no state of a lock') end
  fence, first, queued = tonumber(sub(v, 1, 16)), tonumber(sub(v, 17, 32)), sub(v, 33, 33) == '+'
  id, last, tail = sub(v, 34, 54), sub(v, 55, 75), sub(v, 76)
  if first > now then used = 1 end
else
  queued = call('EXISTS', KEYS[2]) == 1
end
`;

/** The parts of the state machine that know where the holder is stored. */
export const mutex: Holding = {
  // First the transitions of a lock without waiters, before anything else is read: the same as those of the state machine,
  // but with few numbers, as these are what takes time.
  readToAcquire: `
local v = call('GET', KEYS[1])
if v and sub(v, 17, 33) == '${FREE}' and sub(v, 55, 75) ~= ARGV[1] then
  local last = tonumber(sub(v, 1, 16))
  local fence = ${after("last")}
  local text = n16(fence) .. n16(now + ARGV[2] * 1000) .. '-' .. ARGV[1] .. sub(v, 55, 75) .. stamp .. (ARGV[8] or '')
  call('SET', KEYS[1], text, 'PX', ARGV[3])
  return { 1, fence, now }
end
${read}`,
  readToRelease: `
local v = call('GET', KEYS[1])
if v and sub(v, 33, 54) == '-' .. ARGV[1] and tonumber(sub(v, 17, 32)) > now and ARGV[3] == '' then
  local text = sub(v, 1, 16) .. '${FREE}${NONE}' .. ARGV[1]
  if not redis.pcall('SET', KEYS[1], text, 'PX', ARGV[2]).err then return { 1, now, 0 } end -- else maxmemory: see save
end
${digits}${read}`,
  // the caller's own lease, which then lasts at least its ttl from now
  prolong: `
if used == 1 and id == me then
  first = math.max(first, now + ttl * 1000) -- a late command must not shorten what extend() has set
  keep(KEYS[1], math.ceil((first - now) / 1000) + retention, true)
  call('SETRANGE', KEYS[1], 16, n16(first))
  return { 1, fence, now }
end
`,
  expire: "",
  nextEnd: "first",
  mark: `if v then call('SETRANGE', KEYS[1], '32', '+') end`,
  grant: (to, ms, _, owner) => `
fence, first, used, dirty = ${after("fence")}, now + ${ms} * 1000, 1, true
id, tail = ${to}, stamp .. ${owner}
`,
  save: (releasing) => `
local text = n16(fence) .. n16(first) .. (queued and '+' or '-') .. id .. last .. tail
local life = math.max((used == 1 and math.ceil((first - now) / 1000) or 0) + retention, 1)
${releasing ? WRITE_WHEN_FULL : WRITE}
`,
  // the end of the caller's hold: code 1 if it still held, 0 if its time was over
  drop: `
if id == me then
  code = used
  if used == 1 then last = me end
  id, first, used, tail, dirty = NONE, 0, 0, ZERO, true
end
`,
  // the end of all holds; their releases are to report that they no longer held
  evict: `
if not v and not queued then return { 0, now, 0 } end
code, id, last, first, used, tail, dirty = used, NONE, NONE, 0, 0, ZERO, true
`,
};
