/**
 * Warns of callers that use a name with different numbers, as during the rollout of a new version.
 *
 * @module
 */
import { warn } from "../internal/platform.ts";

const warned = new Set<string>();

/**
 * Warns once for each name in this process.
 *
 * @param what The resource, such as `semaphore "seats"`.
 * @param here The caller's own numbers, such as `3 permits`.
 * @param elsewhere The numbers of another caller.
 */
export function warnDiffering(what: string, here: string, elsewhere: string): void {
  if (warned.has(what)) return;
  warned.add(what);
  const words = `Callers of ${what} disagree: ${here} here, ${elsewhere} elsewhere. Each call is judged by its own.`;
  warn(words, "INTERLOCK_REDIS_NUMBERS");
}
