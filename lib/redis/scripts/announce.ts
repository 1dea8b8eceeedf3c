/**
 * The notices of the end of a lease, in Lua: waiters that are to ask when it ends, should its holder have crashed.
 * Invariant: at most three at a time, so that a crash causes no herd.
 *
 * @module
 */
import { LIVENESS } from "../times.ts";
import { processOf } from "./script.ts";

/** Brings `at` forward to when to check whether a waiter is alive: one ttl after it asked, if it may be gone by then. */
export const orDoubt = `
local alive, ms = tonumber(sub(waiter, 1, 16)), tonumber(string.match(waiter, '^%d+', 18))
if alive and ms and sub(waiter, 17, 17) == 'c' and ms < ${LIVENESS} then
  alive = math.min(alive, math.max(alive - (${LIVENESS} - ms) * 1000, now + ms * 1000))
end
at = math.min(at == 0 and math.huge or at, alive or math.huge)
if at == math.huge then at = 0 end
`;

export const publish = (id: string, text: string): string =>
  `redis.pcall('PUBLISH', channels .. ${processOf(id)}, ${id} .. ' ' .. ${text})`;

/**
 * Notifies the first three of `ids` from `from` of the end of a lease, unless they ask before it anyway. With several
 * holders a waiter also waits for those ahead of it.
 */
export const announce = (from: string, end: string, several: string): string => `
local at, from = ${end}, ${from}
local text = n16(at)
for k = from, math.min(from + 2, #ids) do
  local waiter = known[k]
  if waiter and waiter > stamp then
    if at > 0 and text < waiter then
      ${publish("ids[k]", "'0 ' .. stamp .. ' ' .. n16(at + (k - from) * 50000)")}
    end
    if ${several} then${orDoubt}
      text = n16(at)
    end
  end
end
`;

/**
 * If the first three are of one process, which may be dead as a whole, puts the first of each process among the first
 * hundred and the last waiter in their place: any waiter that asks serves the whole queue. Only if there is a waiter
 * whose ttl is so long that it might not ask before the lease ends: as it asks every third of its ttl, it still counts as
 * alive for 0.63 of that or more, and the queue lives as long.
 */
export const firstOfEach = `
local process = ${processOf("ids[i]")}
if ends > now and ids[i + 2] and ${processOf("ids[i + 1]")} == process and ${processOf("ids[i + 2]")} == process
  and call('PTTL', KEYS[2]) - retention > math.max((ends - now) / 1000 * 1.9, ${LIVENESS + 50}) then
  local firsts, seen, some = {}, {}, call('ZRANGE', KEYS[2], '0', '99')
  some[#some + 1] = call('ZRANGE', KEYS[2], '-1', '-1')[1]
  for _, id in ipairs(some) do
    process = ${processOf("id")}
    if not seen[process] and #firsts < 3 then firsts[#firsts + 1] = id end
    seen[process] = true
  end
  ids, i, known = firsts, 1, call('HMGET', KEYS[3], unpack(firsts))
end
`;
