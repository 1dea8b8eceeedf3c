/**
 * The script that looks at one hold without touching it.
 *
 * @module
 */
import { prelude, script } from "./mutex.ts";
import type { Script } from "./mutex.ts";

/** KEYS: state. ARGV: m or w, id. Returns now and the microseconds that are left of the hold; 0 or less: not held. */
export const verify: Script = script(`${prelude}
local ends = 0
if ARGV[1] == 'm' then
  local v = call('GET', KEYS[1])
  if v and sub(v, 34, 54) == ARGV[2] then ends = tonumber(sub(v, 17, 32)) end
else
  local own = call('HGET', KEYS[1], 'h' .. ARGV[2])
  if own then ends = tonumber(sub(own, 1, 16)) end
end
return { now, ends == 0 and 0 or ends - now }
`);
