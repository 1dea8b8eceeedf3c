/**
 * The turns of one worker in a rate limit, as the server has given them: by its real clock, also where the scripts see
 * another one. Invariant: a turn that was given back is none.
 */
import type { Backend } from "../../../lib/redis/mod.ts";
import { giveBack, start } from "../../../lib/redis/rate/scripts.ts";
import { CLOCK } from "./_clock.ts";

const ANSWER = /return (?:(?:other and )?\{ 1, (wait|0), at, (other) \}(?: or at)?|(moment)\n)/g;

function withTimes(_: string, wait = "0", other = "nil", at = "at"): string {
  return `return { 1, ${wait}, ${at}, now, call('GET', '${CLOCK}') or 0, ${other} }\n`;
}

export class Turns {
  /** By their turns in the time of the limit. */
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
        if (source === giveBack.source) this.#turns.delete(args[1]!);
        const answer = await backend.eval(source.replace(ANSWER, withTimes), keys, args) as number[];
        if (source !== start.source || answer[0] === 0) return answer;
        if (!(answer.length >= 5)) throw new Error("a script that answers in another way");
        const [now, ahead] = answer.splice(3, 2);
        this.#turns.set(String(answer[2]), now! - Number(ahead) * 1e6 + answer[1]!);
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
