/** A backend whose commands a test delays, loses or repeats. */
import type { Backend } from "../../lib/redis/mod.ts";

export type Run = () => Promise<unknown>;

/** The same backend, of which `alter` runs each command. */
export function altered(
  backend: Backend,
  alter: (run: Run, keys: string[], args: string[]) => Promise<unknown>,
): Backend {
  return {
    evalsha: (sha, keys, args) => alter(() => backend.evalsha(sha, keys, args), keys, args),
    eval: (script, keys, args) => alter(() => backend.eval(script, keys, args), keys, args),
    subscribe: (channel, onMessage, onGap) => backend.subscribe!(channel, onMessage, onGap),
    get closed() {
      return backend.closed!;
    },
    onClose: (listener) => backend.onClose!(listener),
  };
}
