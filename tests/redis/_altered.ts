/** A backend whose commands a test delays, loses or repeats. */
import type { Backend } from "../../lib/redis/mod.ts";

export type Run = () => Promise<unknown>;

/** The same backend, of which `alter` runs each command. */
export function altered(
  backend: Backend,
  alter: (run: Run, keys: string[], args: string[]) => Promise<unknown>,
): Backend {
  const commands: Pick<Backend, "evalsha" | "eval"> = {
    evalsha: (sha, keys, args) => alter(() => backend.evalsha(sha, keys, args), keys, args),
    eval: (script, keys, args) => alter(() => backend.eval(script, keys, args), keys, args),
  };
  return Object.assign(Object.create(backend), commands);
}
