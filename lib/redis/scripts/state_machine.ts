/**
 * The state machine of one name, for both kinds of holders. A name has holders, a queue and the last fence.
 *
 * - acquire: free and no waiters → holds. Held → waits (or not, in mode t). Asked again by a waiter → still waits, which
 *   shows that it is alive. Asked again by a holder → holds, with the same token.
 * - release: holds → gone, and the queue is served. Waits → gone. Anything else → nothing, or the same answer as before.
 * - serve: while the head fits, it holds; while the head is dead, it goes. A lease that has ended is gone as well.
 *
 * Invariants: the weights of the holders never exceed the limit; the head is granted before any waiter behind it; every
 * grant has a larger token than all before; each script may run twice, late, or without its answer being received.
 *
 * @module
 */
import { holder } from "./mutex.ts";
import { queue } from "./queue.ts";
import { prelude, script } from "./script.ts";
import type { Script } from "./script.ts";
import { holders } from "./weighted.ts";

/**
 * KEYS: state, queue, waiters (and leases). ARGV: id, ttl, retention, latest server time (0: any), mode (t: do not
 * wait; p: by push; h: by heartbeats, or a push that may get lost), liveness, longest pause until it asks again, place in
 * the queue (0: at the end), owner, weight, limit.
 *
 * Returns 1 fence now | 0 now place askAt deaf more | -2 now (too late, or released already) | -3 limit now (the others
 * use another limit).
 */
function acquire(holding: string): Script {
  return script(`${prelude}
if ARGV[4] ~= '0' and now > tonumber(ARGV[4]) then return { -2, now } end
${holding}
local me, ttl, retention, mode = ARGV[1], ARGV[2] + 0, ARGV[3] + 0, ARGV[5]
local weight, wanted = (ARGV[10] or 1) + 0, (ARGV[11] or 1) + 0
local mine = prolong(me, ttl, retention)
if mine then return { 1, mine, now } end
if last == me then return { -2, now } end
expire()
if not limit or (used == 0 and not queued) then limit = wanted end
if limit == wanted and not queued and used + weight <= limit then
  grant(me, ttl, weight, ARGV[9])
  save(retention)
  return { 1, fence, now }
end
${queue}
local seq, deaf, messages, changed, waiting = 0, 0, {}, false, queued
if mode ~= 't' and limit == wanted then
  seq, deaf = join(me, ARGV[8], mode, weight, ARGV[9], ttl, ARGV[6] + 0, retention)
  queued = true
end
if used < limit then
  local again
  again, mine, messages, changed = serve(me)
  more = math.max(more, again)
end
if changed then queued = announce(KEYS[2], KEYS[3], nextEnd(), limit > 1) end
if used == 0 and not queued then limit = wanted end
if mode == 't' and limit == wanted and not queued and used + weight <= limit then
  grant(me, ttl, weight, ARGV[9])
  mine = fence
end
if dirty then save(retention) elseif queued ~= waiting then mark() end
notify(messages)
if mine then return { 1, mine, now } end
if limit ~= wanted and more == 0 then return { -3, limit, now } end
return { 0, now, seq, seq ~= 0 and askAt(me, ARGV[7]) or 0, deaf, more }
`);
}

/**
 * KEYS as above; none: returns now, so that a process knows the server's time, and the server this script, before there
 * is anything to release. ARGV: id, retention, and "" to release a hold or leave the queue, "force" to end all holds, or
 * "serve" to go on serving. Returns code now more: code 1 was held, 2 waited, 0 neither; more 1: the same
 * command has to follow, 2: "serve".
 */
function release(holding: string): Script {
  return script(`${prelude}
if #KEYS == 0 then return now end
${holding}
local me, retention, mode = ARGV[1], ARGV[2] + 0, ARGV[3]
local code = nil
if mode == '' then code = drop(me) end
if code and not queued then
  save(retention, true)
  return { code, now, 0 }
end
${queue}
if mode == 'force' then
  code, more = evict()
  if more == 1 then
    save(retention, true)
    return { code, now, 1 }
  end
elseif mode == '' and not code then
  if last == me then return { 1, now, 0 } end -- asked again after the answer was lost
  code = leave(me) * 2
  if code == 0 then return { 0, now, 0 } end
end
if not limit then return { code or 0, now, 0 } end
expire()
local waiting = queued
local again, _, messages = serve()
queued = announce(KEYS[2], KEYS[3], nextEnd(), limit > 1)
if dirty or queued ~= waiting then save(retention, true) end
notify(messages)
return { code or 0, now, (more == 1 or again == 1) and 2 or 0 }
`);
}

export const acquireMutex: Script = acquire(holder);
export const acquireWeighted: Script = acquire(holders);
export const releaseMutex: Script = release(holder);
export const releaseWeighted: Script = release(holders);
