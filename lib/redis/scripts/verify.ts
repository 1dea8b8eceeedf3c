/**
 * The script that looks at one hold. Invariant: it writes nothing, so a hold neither lasts longer nor ends by being looked
 * at, and it runs on a server that refuses writes.
 *
 * @module
 */
import { clock, type Script, script } from "./script.ts";

/** KEYS: state, and leases where there are some. ARGV: m or w, id. Returns now and the microseconds that are left of the hold; 0 or less: not held. */
export const verify: Script = script(`${clock}
local ends = 0
if ARGV[1] == 'm' then
  local v = call('GET', KEYS[1])
  if v and sub(v, 34, 54) == ARGV[2] then ends = tonumber(sub(v, 17, 32)) end
elseif call('HEXISTS', KEYS[1], 'h' .. ARGV[2]) == 1 then -- else its weight is not counted any more
  ends = tonumber(call('ZSCORE', KEYS[2], ARGV[2]) or 0)
end
return { now, ends == 0 and 0 or ends - now }
`);
