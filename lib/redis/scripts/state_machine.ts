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
import type { Holding } from "./holding.ts";
import { mutex } from "./mutex.ts";
import { askAt, join, notify, serve } from "./queue.ts";
import { clock, digits, type HolderScripts, type Script, script } from "./script.ts";
import { weighted } from "./weighted.ts";

/**
 * KEYS: state, queue, waiters (and leases). ARGV: id, ttl, ttl and retention together, latest server time (0: any),
 * mode (t: do not wait; c: by push; h: by heartbeats, or a push that may get lost), place in the queue (0: at the end),
 * start of the channels, owner, weight, limit; the last three may be missing.
 *
 * Returns 1 fence now | 0 now place askAt deaf more fence | -2 now (too late, or released already) | -3 limit now (the others
 * use another limit).
 */
function acquireFrom(holding: Holding): Script {
  const { readToAcquire, prolong, expire, mark, grant, save } = holding;
  const take = grant("me", "ttl", "weight", "owner");
  return script(`${clock}${digits}
if ARGV[4] ~= '0' and now > ARGV[4] + 0 then return { -2, now } end
${readToAcquire}
local me, ttl, retention, mode = ARGV[1], ARGV[2] + 0, ARGV[3] - ARGV[2], ARGV[5]
local channels, owner, weight, wanted = ARGV[7], ARGV[8] or '', (ARGV[9] or 1) + 0, (ARGV[10] or 1) + 0
${prolong}
if last == me then return { -2, now } end
${expire}
if not limit or (used == 0 and not queued) then limit = wanted end
local free = limit == wanted and not queued and used + weight <= limit
local place, deaf, mute, waiting, releasing, mine = 0, 0, 0, queued, false, nil
if not free and limit == wanted and mode ~= 't' then ${join} end
if used < limit then
  if free then${take}${save()}
    return { 1, fence, now }
  end
${serve(holding)}
  if used == 0 and not queued then limit = wanted end
  if mode == 't' and limit == wanted and not queued and used + weight <= limit then${take}
    mine = fence
  end
  if dirty then${save()}end
  ${notify}
  if mine then return { 1, mine, now } end
end
if queued and not waiting then ${mark} end
if limit ~= wanted and more == 0 then return { -3, limit, now } end
if place == 0 then return { 0, now, 0, 0, 0, more, fence } end
${askAt(holding)}
`);
}

/**
 * KEYS as above; none: returns now, so that a process knows the server's time, and the server this script, before there is
 * anything to release. ARGV: id, retention (1 or more), and "" to release a hold or leave the queue, "force" to end all
 * holds, or "serve" to go on serving; the start of the channels; a fifth one in a cluster.
 *
 * Returns code now more (mute): code 1 was held, 2 waited, 0 neither; more 1: the same command has to follow, 2: "serve";
 * mute 1: this user may not publish.
 */
function releaseFrom(holding: Holding): Script {
  const { readToRelease, expire, drop, evict, save } = holding;
  return script(`${clock}
if #KEYS == 0 then return now end
${readToRelease}
local me, retention, mode, channels = ARGV[1], ARGV[2] + 0, ARGV[3], ARGV[4]
local code, mine, mute, releasing = nil, nil, 0, true
if mode == '' then
  ${drop}
  if not code then
    if last == me then return { 1, now, 0 } end -- asked again after the answer was lost
    call('HDEL', KEYS[3], me)
    code = call('ZREM', KEYS[2], me) * 2
    if code == 0 then return { 0, now, 0 } end
  end
elseif mode == 'force' then
  ${evict}
end
code = code or 0
if not limit then return { code, now, 0 } end
if more == 1 then${save(true)}
  return { code, now, 1 } -- "force" again
end
${expire}
if not queued then${save(true)}
  return { code, now, 0 }
end
me = nil
${serve(holding)}
if dirty or not queued then${save(true)}end
${notify}
return { code, now, more == 1 and 2 or 0, mute }
`);
}

export const acquire: HolderScripts = { one: acquireFrom(mutex), weighted: acquireFrom(weighted) };
export const release: HolderScripts = { one: releaseFrom(mutex), weighted: releaseFrom(weighted) };
