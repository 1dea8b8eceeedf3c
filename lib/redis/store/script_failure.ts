/**
 * Interprets the errors of a script: a missing right, data of another shape, a moving slot. Invariant: any other error
 * is returned as it is.
 *
 * @module
 */
import { quote } from "../../internal/check.ts";
import { codeOf, DataError, messageOf, PassingError, SlotMovingError, StateError } from "../errors.ts";

const NO_CLUSTER_CLIENT =
  "this Redis is a node of a cluster, and the client is not one of a cluster: use a Cluster, such " +
  "as createCluster() of npm:redis or new Cluster() of npm:ioredis";

/** Interprets a script's error, which has no arguments; `keys` are the keys passed to it, the state first. */
export function scriptFailure(error: unknown, source: string, keys: readonly string[], cluster: boolean): unknown {
  const message = messageOf(error);
  const failure = (words: string, Failure = StateError) => new Failure(`${words} (${message})`, { cause: error });
  if (/^-?(TRYAGAIN|ASK|MOVED)\b|Cluster redirections.*\b(TRYAGAIN|ASK|MOVED)\b|non local key/.test(message)) {
    return cluster ? failure("the slot of this name is being moved", SlotMovingError) : failure(NO_CLUSTER_CLIENT);
  }
  // ioredis has used up its retries; node-redis finds no node for the slot.
  if (/Cluster redirections.*\bCLUSTERDOWN\b/.test(message) || (cluster && /undefined.*\bmaster\b/.test(message))) {
    const words = "the cluster is down (CLUSTERDOWN), or no node of it serves the slot of this name";
    return new PassingError(words, { cause: error });
  }
  const line = source.split("\n")[Number(/@?user_script:\s*(\d+)/.exec(message)?.[1] ?? 0) - 1] ?? "";
  const commands = [...line.matchAll(/call\('([A-Z]+)'/g)].map(([, name]) => name);
  // If the server refuses EVALSHA or EVAL itself, it names that command, which is in no line of the script.
  const named = /(?:permissions to run the|unknown command) ['`]([\w|]+)/.exec(message)?.[1]?.toUpperCase();
  const which = named ?? (commands.length === 0 ? "a command of its scripts" : commands.join(" or "));
  if (/unknown (Redis )?command/i.test(message)) {
    return failure(`this Redis does not know ${which}, which may have been renamed or disabled`);
  }
  // The text of Redis up to 7.0, then of later versions and of Valkey.
  if (/can't run this command|no permissions to run/.test(message)) {
    return failure(`this Redis user may not run ${which}, which ACL SETUSER may allow`);
  }
  if (/can't access at least one of the keys|permissions to access (a key|one of the keys)/.test(message)) {
    return failure(`this Redis user may not use the keys of this name, ${quote(keys[0])}`);
  }
  // No script fails on its own data.
  const code = codeOf(error);
  const isWrong = code === "WRONGTYPE";
  if (keys.length === 0 || (!isWrong && (code !== "ERR" || line === ""))) return error;
  const numbers = new Set([...line.matchAll(/KEYS\[(\d)\]/g)].map(([, number]) => Number(number)));
  const only = numbers.size === 1 ? keys[[...numbers][0]! - 1] : undefined;
  const key = only === undefined ? `a key that begins with ${quote(keys[0])}` : `the key ${quote(only)}`;
  const words = isWrong ? `something else uses ${key} in Redis` : `the data of ${key} is not what this module writes`;
  return failure(words, DataError);
}
