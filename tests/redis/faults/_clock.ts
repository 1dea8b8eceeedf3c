/**
 * A server whose clock can be set: every script is sent as text, with a change to the line that reads the time. The
 * expiry of keys, which Redis does itself, still uses the real clock.
 */
import type { Backend } from "../../../lib/redis/mod.ts";
import type { Server } from "../_server.ts";

/** The key of the seconds by which the clock is ahead. */
export const CLOCK = "test:clock";
const READS = "local time = call('TIME')\n";

/** Runs scripts with the clock that {@linkcode setClock} sets. */
export function byClock(backend: Backend): Backend {
  const shifts = `time[1] = string.format('%.0f', time[1] + (call('GET', '${CLOCK}') or 0))\n`;
  return {
    ...backend,
    evalsha: () => Promise.reject(new Error("NOSCRIPT")),
    eval: (source, keys, args) => {
      if (!source.includes(READS)) throw new Error("a script that reads the time in another way");
      return backend.eval(source.replace(READS, READS + shifts), keys, args);
    },
  };
}

/** Sets the server's clock to this number of seconds ahead of the machine's; negative values are behind. */
export async function setClock(server: Server, seconds: number): Promise<void> {
  await server.send("SET", CLOCK, seconds);
}
