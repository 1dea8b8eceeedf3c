/**
 * The arithmetic of token buckets in Lua. Expressions are inserted where they are used: creating a function takes
 * longer than a short command. Moments and spans are µs.
 *
 * @module
 */

/** The longest time in µs, a century, that a penalty empties a bucket for: sums with the present time are exact. */
export const MOST_MISSING = 100 * 365 * 24 * 3600 * 1e6;

/**
 * Expressions about the bucket in which `storedMissing` was missing: what was missing, when it has p permits, and what
 * is missing at a moment. Its span, which is below 0, is the time in which it gets all its permits.
 */
function bucketBy(storedMissing: string, since: string, limit: string, span: string) {
  const missing = `min(${storedMissing}, ${limit} + ${MOST_MISSING} * ${limit} / -${span})`;
  return {
    missing,
    filled: `${since} + ceil((${missing} + p - ${limit}) * -${span} / ${limit})`,
    missingLua: (at: string) => `max(0, ${missing} - (${at} - ${since}) * ${limit} / -${span})`,
  };
}

/** The only bucket of a limit, as `readHeader` reads it. */
export const only = bucketBy("missing", "since", "limit", "span");

/** The i-th bucket, by these levels. */
export const bucketOf = (levels: string) =>
  bucketBy(`(${levels}[3 * i - 1] or 0)`, `(${levels}[3 * i] or 0)`, "limits[i]", "spans[i]");
