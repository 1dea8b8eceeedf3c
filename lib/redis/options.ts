/**
 * Options of all classes over Redis, and the names of keys. Invariant: two different (prefix, kind, name) never give
 * the same key, and all keys of one name share one hash tag, hence one cluster slot.
 *
 * @module
 */
import { LAYOUT_VERSION } from "./scripts/layout.ts";
import { checkName, checkOptions, checkString, must } from "../internal/check.ts";

/** Options of the classes over Redis with leases, read once by the constructor. */
export interface RedisOptions {
  /**
   * Milliseconds that a lease lasts unless it is renewed. After a crash of the holder, waiters wait for the end of the
   * lease. 10 or more. Default: 30,000.
   */
  readonly ttl?: number | undefined;
  /**
   * Whether leases are renewed while they are held, every third of the `ttl`. A number above 0 limits renewal to that
   * many milliseconds after the grant: a function that hangs loses its lease at most one `ttl` later. `extend` can
   * exceed the limit. Default: true.
   */
  readonly renew?: boolean | number | undefined;
  /** The beginning of all keys in Redis, without braces or lone surrogates. Default: "interlock:". */
  readonly prefix?: string | undefined;
  /** Labels this process in `inspect()`, 1 to 100 characters. Default: none. */
  readonly owner?: string | undefined;
}

/** The kinds of keys. No kind is a suffix of another, so that no prefix can make two of them equal. */
export type Kind = "lock" | "semaphore" | "keyed" | "rw" | "rate";

/** Checked options. Internal. */
export interface Settings {
  readonly ttl: number;
  /** Milliseconds after the grant for which leases are renewed; 0: never. */
  readonly renew: number;
  readonly prefix: string;
  readonly owner: string | undefined;
}

/** The longest time that a timer can hold. */
const MAX_MS = 2 ** 31 - 1;

/** Shorter leases would end before the answer arrives. */
const MIN_TTL = 10;

/** The beginning of all keys. */
export function prefixOf(options: Pick<RedisOptions, "prefix"> | undefined): string {
  const { prefix = "interlock:" } = checkOptions(options, "prefix");
  checkString(prefix, "prefix");
  // A brace would move the hash tag, and so put keys of one name into different cluster slots. Lone surrogates have no
  // UTF-8: prefixes that differ only in them would be equal in Redis.
  must(!/[{}\p{Cs}]/u.test(prefix), "prefix", "not contain braces or lone surrogates", prefix, RangeError);
  return prefix;
}

/** Checks the options and copies them. */
export function settingsOf(options: RedisOptions | undefined): Settings {
  const { ttl = 30_000, renew = true, owner } = checkOptions(options, "ttl");
  checkTtl(ttl);
  const prefix = prefixOf(options);
  if (owner !== undefined) {
    checkName(owner, "owner");
    must(owner.length <= 100, "owner", "have at most 100 characters", owner, RangeError);
  }
  return { ttl, renew: renewalOf(renew), prefix, owner };
}

function renewalOf(renew: unknown): number {
  if (typeof renew === "boolean") return renew ? Infinity : 0;
  must(typeof renew === "number", "renew", "be a boolean or a number of milliseconds", renew);
  must(renew > 0, "renew", "be above 0 milliseconds, or false", renew, RangeError);
  return renew;
}

/** A key over Redis, where each key is text. */
export function checkTextKey(key: unknown): asserts key is string {
  must(typeof key === "string", "key", "be a string, such as String(id)", key);
}

export function checkTtl(ttl: unknown): asserts ttl is number {
  must(typeof ttl === "number", "ttl", "be a number of milliseconds", ttl);
  const isWithin = Number.isInteger(ttl) && ttl >= MIN_TTL && ttl <= MAX_MS;
  must(isWithin, "ttl", `be a whole number of milliseconds from ${MIN_TTL} to ${MAX_MS}`, ttl, RangeError);
}

/** The keys of one name: its state, the lives of its waiters (and holders), and its queue. */
export type Keys = readonly [state: string, lives: string, queue: string];

export function keysOf(prefix: string, kind: Kind, name: string): Keys {
  const state = `${prefix}${kind}:${LAYOUT_VERSION}:{${escapeName(name)}}`;
  return [state, `${state}:lives`, `${state}:queue`];
}

/** The version of the data of rate limits. */
const RATE_LAYOUT = 7;

/** The keys of a rate limit, or of one key of it; "%:" is in no escaped text. */
export function rateKeysOf(prefix: string, name: string, key?: string): readonly [string, string] {
  const text = key === undefined ? escapeName(name) : `${escapeName(name)}%:${escapeName(key)}`;
  const head = `${prefix}rate:${RATE_LAYOUT}:{${text}}`;
  return [head, `${head}:starts`];
}

/**
 * Escapes only characters that would be ambiguous or unreadable in a key: the escape itself, braces, white space,
 * control and invisible characters, and lone surrogates, which would all become the same replacement character. It uses
 * no set that grows with Unicode (`\p{C}`, `\p{Cf}`), so that a name gives the same key on every run-time. A cluster
 * ignores an empty hash tag, `{}`: the text for empty names is that of no other name.
 */
function escapeName(name: string): string {
  if (name === "") return "%.";
  return name.replace(/[%{}\s\p{Cc}\p{Co}\p{Cs}\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f]/gu, (char) => {
    const hex = (char.codePointAt(0) ?? 0).toString(16);
    return `%${hex}.`;
  });
}
