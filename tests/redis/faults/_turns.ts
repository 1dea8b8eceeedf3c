/**
 * The turns of one worker in a rate limit, as the server has given them: by its real clock, also where the scripts see
 * another one. Invariant: a turn that was given back is none.
 */
import type { Backend } from "../../../lib/redis/mod.ts";
import { CLOCK } from "./_clock.ts";

const ANSWER = "return { 1, now, wait, number, stored }";
const WITH_CLOCK = `return { 1, now, wait, number, stored, call('GET', '${CLOCK}') or 0 }`;

export class Turns {
  /** By number. */
  readonly #turns = new Map<string, number>();

  /** The same backend, whose answers are noted. */
  watch(backend: Backend): Backend {
    return {
      ...backend,
      evalsha: (sha, keys, args) => {
        if (keys[0]?.includes(":rate:")) return Promise.reject(new Error("NOSCRIPT"));
        return backend.evalsha(sha, keys, args);
      },
      eval: async (source, keys, args) => {
        if (!keys[0]?.includes(":rate:")) return await backend.eval(source, keys, args);
        if (!source.includes(ANSWER)) this.#turns.delete(args[6]!); // the script that gives back
        const answer = await backend.eval(source.replace(ANSWER, WITH_CLOCK), keys, args) as number[];
        const [code, now = 0, wait = 0, number, , ahead] = answer;
        if (source.includes(ANSWER) && code === 1) this.#turns.set(String(number), now - Number(ahead) * 1e6 + wait);
        return answer;
      },
    };
  }

  /** The turn of the call that has just started, in µs. */
  take(): number {
    const [at = NaN] = this.#turns.values();
    this.#turns.clear();
    return at;
  }
}
