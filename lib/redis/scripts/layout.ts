/**
 * The layout of the stored state, version {@linkcode LAYOUT_VERSION}, and the Lua that reads and writes it. No other
 * file knows it.
 *
 * | key | type | content |
 * | --- | --- | --- |
 * | KEYS[1], the state of a lock | string | fence (16 digits), + or - for waiters, holder (21), last released id (21), sets (8 digits), owner |
 * | KEYS[1], the state of anything else | hash | f: fence, n: weight in use, r: last released id, l: limit of the last grant; id of each holder: fence, sets, the rest of its member |
 * | KEYS[2], the lives | sorted set | waiters and, except for a lock, holders by the end of their lives (µs) |
 * | KEYS[3], the queue | sorted set | waiters by arrival (µs) |
 *
 * A member is "id weight limit owner". A waiter or holder ends one ttl after the server has last heard of it, and
 * nothing else ends it; a grant prolongs no life. The holder of a lock lives until {@linkcode IDLE} ms before the end
 * of its key. "sets" counts how often `extend()` has set the end: a command with a smaller number is late and refused.
 *
 * Invariants: the weight in use is the sum of the holders' weights. Every key has a time to live. A fence only grows,
 * by the clock and by at least one, so that it grows even after data was lost. Scripts that must run under maxmemory
 * begin with writes that shrink.
 *
 * @module
 */
import { IDLE_KEPT } from "../times.ts";
import { ID_LENGTH } from "./script.ts";

/** The version of the stored data. Different versions do not see each other. */
export const LAYOUT_VERSION = 3;

/** How long keys are kept after the last hold has ended. */
export const IDLE: number = IDLE_KEPT;

/** No holder; nothing set by `extend()`. */
export const NONE: string = " ".repeat(ID_LENGTH);
export const UNSET = "0".repeat(8);

/** Maximum number of members that one run checks. */
export const MOST_CHECKED = 200;

/**
 * Pieces of Lua, inserted where they are used: defining a function costs a script more than a command. Each names the
 * variables that it reads and sets, beside KEYS, ARGV and the constants of `script.ts`. The state is, for all of them:
 * `fence`, `used` (the weight in use), `released` (the last released id), `waiting` (the length of the queue), `dirty`
 * (whether the state has to be written); for a lock also `v` (the stored text), `rest` (the holder's ms left),
 * `waitersFlag` (+ or -), `holder`, `tail` (sets and owner); else `s` (the fields of the hash), `lastLimit` (that of
 * the last grant), `hold` (that of `id`), `latestEnd` (of the lives granted in this run).
 */
export interface Layout {
  /** Whether all keys of a hold are KEYS[1], so that its waiters alone are in KEYS[2]. */
  readonly isLock: boolean;
  /**
   * Grants, and returns the token, if the name is free without waiters. Reads me, id, time, stamp; sets v or s,
   * waiting.
   */
  readonly acquireFree: string;
  /** Ends the hold of `id`, and returns, if it is the only one, without waiters. Reads id; sets v or s, waiting. */
  readonly releaseAlone: string;
  /**
   * Sets the state. Reads v or s, waiting, now.
   *
   * @param drops Whether a hold of `id` is dropped, so that its rest does not matter.
   */
  read(drops: boolean): string;
  /** Returns, with a new life, if `id` is a holder. Reads the state, id, life, ttl, now. */
  readonly prolong: string;
  /** Takes the holders among the members in `ended`, whose lives are over, out of the state. */
  readonly forget: string;
  /** Makes the member `m` a holder until `ends`. Reads weight, limit, owner, now; sets the state. */
  readonly grant: string;
  /** Writes the state. Reads now. */
  readonly save: string;
  /** Ends the hold of `id`, and sets `code` to 1 if there was one. Sets the state. */
  readonly drop: string;
  /** Ends all holds; sets `code` to 1 if there was one. */
  readonly evict: string;
}

/** An expression: a fence after the last one. */
const NEXT_FENCE = "(fence < now and now or fence < 9007199254740990 and fence + 1 or error('no token is left'))";

/** An expression: + if there may be waiters, else -. */
const WAITERS_FLAG = "(waiting > 0 or not KEYS[3] and waitersFlag == '+') and '+' or '-'";
/** An expression: the time to live of the state, in ms. */
const LIFE = `(used == 1 and rest or 0) + ${IDLE}`;
/** A command; behind `redis.p` it is a `redis.pcall`. */
const SET_STATE = `call('SET', KEYS[1], text, 'PX', ${LIFE})`;

export const lock: Layout = {
  isLock: true,
  // The transitions of a lock without waiters make no numbers, as these are what takes time. 27: behind "id 1 1 ".
  acquireFree: `
local v = call('GET', KEYS[1])
if v and sub(v, 17, 38) == '-${NONE}' and sub(v, 1, 16) < stamp then
  local released = sub(v, 39, 59)
  if released ~= id then
    call('SET', KEYS[1], stamp .. '-' .. id .. released .. '${UNSET}' .. sub(me, 27), 'PX', ARGV[2])
    return stamp
  end
end
`,
  // Under maxmemory it is refused here, and goes on with a write that shrinks.
  releaseAlone: `
local v = call('GET', KEYS[1])
if v and sub(v, 17, 38) == '-' .. id then
  local text = sub(v, 1, 17) .. '${NONE}' .. id .. '${UNSET}'
  if not redis.pcall('SET', KEYS[1], text, 'PX', '${IDLE}').err then return 1 end
end
`,
  read: (drops) => `
local fence, used, rest, waitersFlag, holder, released, tail, dirty = 0, 0, 0, '+', '${NONE}', '${NONE}', '${UNSET}', false
if v then
  local _, head = string.find(v, '^%d+[+-]')
  if head ~= 17 or #v < 67 then error('no state of a lock') end
  fence, waitersFlag, holder, released, tail = tonumber(sub(v, 1, 16)), sub(v, 17, 17), sub(v, 18, 38), sub(v, 39, 59), sub(v, 60)
  if holder ~= '${NONE}'${drops ? " and holder ~= id" : ""} then rest = call('PTTL', KEYS[1]) - ${IDLE} end
  if rest > 0 then used = 1 end
end
local waiting = waitersFlag == '+' and KEYS[3] and call('ZCARD', KEYS[3]) or 0
`,
  prolong: `
if used == 1 and holder == id then
  if sub(tail, 1, 8) == '${UNSET}' then call('PEXPIRE', KEYS[1], life) end
  return { 1, fence }
end
`,
  forget: "",
  grant:
    `fence, used, rest, holder, tail = ${NEXT_FENCE}, 1, math.ceil((ends - now) / 1000), sub(m, 1, 21), '${UNSET}' .. owner`,
  save: `
local text = n16(fence) .. (${WAITERS_FLAG}) .. holder .. released .. tail
if not v then -- of a new name: it is refused under maxmemory
  ${SET_STATE}
elseif redis.p${SET_STATE}.err then -- a write that cannot grow makes room for one that only might
  call('PEXPIRE', KEYS[1], ${LIFE})
  ${SET_STATE}
end
`,
  drop: `if holder == id then code, used, rest, holder, tail = 1, 0, 0, '${NONE}', '${UNSET}' end`,
  evict: `code, used, rest, holder, released, tail, dirty = used, 0, 0, '${NONE}', '${NONE}', '${UNSET}', v ~= false`,
};

/** An expression: the member of a hold. 25: behind its fence and its sets. */
export const memberOf = (id: string, hold: string): string => `${id} .. sub(${hold}, 25)`;

/** An expression: the weight of a hold. */
export const weightOf = (hold: string): string => `string.match(${hold}, '^ (%d+) %d+ ', 25)`;

/** Reads id; sets s, waiting. */
const readFields = `
local s = call('HMGET', KEYS[1], 'f', 'n', 'r', 'l', id)
local waiting = KEYS[3] and call('ZCARD', KEYS[3]) or 0
`;

export const semaphore: Layout = {
  isLock: false,
  // Without holders and waiters, no key is needed for longer than by this hold.
  acquireFree: `${readFields}
if s[2] == '0' and waiting == 0 and not s[5] and s[3] ~= id and s[1] and s[1] < stamp then
  local weight, limit = string.match(me, '^ (%d+) (%d+) ', 22)
  call('ZADD', KEYS[2], time[1] * 1000000 + time[2] + (ARGV[2] - ${IDLE}) * 1000, me)
  call('PEXPIRE', KEYS[2], ARGV[2])
  call('HSET', KEYS[1], 'f', stamp, 'n', weight, 'l', limit, id, stamp .. '${UNSET}' .. sub(me, 22))
  call('PEXPIRE', KEYS[1], ARGV[2])
  return stamp
end
`,
  // The last holder leaves, and no other waits.
  releaseAlone: `${readFields}
if s[5] and KEYS[3] and waiting == 0 and s[2] == ${weightOf("s[5]")}
  and call('ZREM', KEYS[2], ${memberOf("id", "s[5]")}) == 1 then
  call('HDEL', KEYS[1], id)
  call('HSET', KEYS[1], 'n', '0', 'r', id)
  call('PEXPIRE', KEYS[1], '${IDLE}')
  return 1
end
`,
  read: () => `
local fence, used, released, lastLimit, hold = (s[1] or 0) + 0, (s[2] or 0) + 0, s[3] or '', s[4] or '', s[5]
if string.find((s[1] or '') .. (s[2] or '') .. lastLimit, '%D') or not s[1] and call('EXISTS', KEYS[1]) == 1 then
  error('no state of a semaphore')
end
local latestEnd, dirty = now, false
`,
  prolong: `
if hold then
  local m = ${memberOf("id", "hold")}
  if tonumber(call('ZSCORE', KEYS[2], m) or 0) > now then
    if sub(hold, 17, 24) == '${UNSET}' then
      keep(KEYS[1], life, true)
      keep(KEYS[2], life)
      call('ZADD', KEYS[2], 'XX', now + ttl * 1000, m)
    end
    return { 1, tonumber(sub(hold, 1, 16)) }
  end
end
`,
  forget: `
local ids = {}
for i, m in ipairs(ended) do ids[i] = sub(m, 22, 22) == ' ' and sub(m, 1, 21) or 'no member' end
for _, hold in ipairs(call('HMGET', KEYS[1], unpack(ids))) do
  if hold then used, dirty = used - ${weightOf("hold")}, true end
end
call('HDEL', KEYS[1], unpack(ids))
`,
  grant: `
fence, used, lastLimit, latestEnd = ${NEXT_FENCE}, used + weight, limit, math.max(latestEnd, ends)
call('HSET', KEYS[1], sub(m, 1, 21), n16(fence) .. '${UNSET}' .. sub(m, 22))
`,
  save: `
call('HSET', KEYS[1], 'f', n16(fence), 'n', used, 'r', released, 'l', lastLimit)
if used == 0 and waiting == 0 then
  call('PEXPIRE', KEYS[1], '${IDLE}')
else
  keep(KEYS[1], math.ceil((latestEnd - now) / 1000) + ${IDLE})
end
`,
  drop: `
if hold then
  local m = ${memberOf("id", "hold")}
  call('HDEL', KEYS[1], id)
  if call('ZREM', KEYS[2], m) == 1 then code, used = 1, used - ${weightOf("hold")} end -- else it no longer counts
end
`,
  // What is left in the lives is no hold, and goes when its time is over.
  evict: `
if used > 0 then
  call('DEL', KEYS[1])
  code, used, dirty = 1, 0, true
end
`,
};
