/**
 * A server whose clock can be set: every script is sent as text, with a change to the line that reads the time. The
 * expiry of keys, which Redis does itself, still uses the real clock.
 */
import type { Backend } from "../../../lib/redis/mod.ts";
import type { Server } from "../_server.ts";

const KEY = "test:clock";
const READS = "local time = call('TIME')\n";
const SHIFTS = `time[1] = string.format('%.0f', time[1] + (call('GET', '${KEY}') or 0))\n`;

/** Runs scripts with the clock that {@linkcode setClock} sets. */
export function byClock(backend: Backend): Backend {
  return {
    ...backend,
    evalsha: () => Promise.reject(new Error("NOSCRIPT")),
    eval: (source, keys, args) => {
      if (!source.includes(READS)) throw new Error("a script that reads the time in another way");
      return backend.eval(source.replace(READS, READS + SHIFTS), keys, args);
    },
  };
}

/** Sets the server's clock to this number of seconds ahead of the machine's; negative values are behind. */
export async function setClock(server: Server, seconds: number): Promise<void> {
  await server.send("SET", KEY, seconds);
}
